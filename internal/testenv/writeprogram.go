package testenv

import (
	"io/fs"
	"os"
	"syscall"
)

// WriteProgram writes a file that a test starts later. Meanwhile no other test of the binary starts a process: it would
// have a copy of the open file until it executes its own program, and the kernel starts no file that is open for writing
// (ETXTBSY).
func WriteProgram(path string, content []byte, perm fs.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, content, perm)
}
