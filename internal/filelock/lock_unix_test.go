//go:build unix

package filelock

import (
	"path/filepath"
	"syscall"
	"testing"
)

func TestAReleasedLockIsFreeAlthoughAChildHasItsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, second := open(t, path), open(t, path)
	defer second.Close()
	if err := Try(first); err != nil {
		t.Fatal(err)
	}
	copied, err := syscall.Dup(int(first.Fd())) // as a child has it before it begins its program
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(copied) }()
	if err := Release(first); err != nil {
		t.Fatal(err)
	}
	if err := Try(second); err != nil {
		t.Error(err)
	}
}
