//go:build unix

package httpapi

import "syscall"

// descriptorLimit returns how many file descriptors this process may have.
func descriptorLimit() uint64 {
	var limit syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return limit.Cur
}
