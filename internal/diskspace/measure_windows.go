package diskspace

import "golang.org/x/sys/windows"

// measure returns the bytes of a directory's disk: free for this user, and all.
func measure(path string) (free, total int64, err error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, 0, err
	}
	var available, size uint64
	if err := windows.GetDiskFreeSpaceEx(name, &available, &size, nil); err != nil {
		return 0, 0, err
	}
	return int64(available), int64(size), nil //nolint:gosec // no disk has 2^63 bytes
}
