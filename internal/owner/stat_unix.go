//go:build unix

package owner

import (
	"io/fs"
	"syscall"
)

func ownerOf(info fs.FileInfo) (id ID, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ID{}, false
	}
	return ID{int(stat.Uid), int(stat.Gid)}, true
}

// namesOf returns what identifies a file, and how many names it has.
func namesOf(info fs.FileInfo) (inode, uint64) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}, 1
	}
	return inode{uint64(stat.Dev), stat.Ino}, uint64(stat.Nlink) //nolint:unconvert // types differ between systems
}
