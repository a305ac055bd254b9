//go:build unix

package diskspace

import "syscall"

// measure returns the bytes of a path's file system: free for processes without privileges, and all.
func measure(path string) (free, total int64, err error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(path, &stat); err != nil {
		return 0, 0, err
	}
	block := int64(stat.Bsize)                                         //nolint:unconvert // of another type on other systems
	return int64(stat.Bavail) * block, int64(stat.Blocks) * block, nil //nolint:gosec // no disk has 2^63 bytes
}
