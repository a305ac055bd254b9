package treereader

import (
	"slices"

	"golang.org/x/sys/unix"
)

// settling lists the file systems on which a signature can be trusted: they write changed pages back, and give the
// next write through a mapping a new time of change. A file system in memory does neither.
var settling = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
}

// settles reports whether signatures in a directory can be trusted.
func (d directory) settles() bool {
	var st unix.Statfs_t
	return unix.Fstatfs(d.fd, &st) == nil &&
		slices.Contains(settling, int64(st.Type)) //nolint:unconvert // types differ between architectures
}

// writeBack makes the next write through each mapping of the file fault. A program could otherwise go on to write
// through a page that is changed already, and the file's time of change would stay. It waits for pages that are being
// written, because these may have been changed again meanwhile.
func (f file) writeBack() error {
	return unix.SyncFileRange(f.fd, 0, 0, unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE)
}
