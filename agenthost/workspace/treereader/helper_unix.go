//go:build unix

package treereader

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Limits of the process of a reading.
const (
	processorTime = 30  // seconds
	openFiles     = 512 // a directory for each level of the tree, and a few
)

// limitProcess bounds what this process may use. It writes files of up to fileSize bytes.
func limitProcess(fileSize uint64) error {
	for resource, limit := range map[int]uint64{
		unix.RLIMIT_CPU: processorTime, unix.RLIMIT_FSIZE: fileSize, unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: openFiles,
	} {
		var current unix.Rlimit
		if err := unix.Getrlimit(resource, &current); err != nil {
			return fmt.Errorf("limits: %w", err)
		}
		limit = min(limit, current.Max)
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("limits: %w", err)
		}
	}
	return nil
}
