//go:build unix

package journal

import (
	"syscall"
	"testing"
)

// A child that was just forked has all open files until its program begins.
func TestAClosedJournalIsFreeAlthoughAChildHasItsLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := opened(t, dir)
	child, err := syscall.Dup(int(j.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(child) }()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	opened(t, dir)
}
