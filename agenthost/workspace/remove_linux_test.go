package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bellhop/agenthost/workspace/worktreetest"
	"bellhop/internal/process"
	"bellhop/protocol"
)

// What an agent has made of its files and its home goes with the session, and nothing else does.
func TestADeletionRemovesWhateverAnAgentHasMade(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	write(t, outside, "d/s", "outside\n")
	k, _, dir := cloned(t)
	_, home, err := k.Dir(t.Context(), uuid, "shop")
	must(t, err)
	for _, at := range []string{dir, home} {
		worktreetest.Shell(t, at, "ln -s "+outside+" l; mkfifo p; mkdir -p ignored/a/b; touch ignored/a/b/c; chmod 500 ignored/a; chmod 0 ignored/a/b; "+
			"cd ignored; ln -s "+outside+"/d k; for i in $(seq 3); do d=deep; for j in $(seq 150); do d=$d/ddddd; done; mkdir -p $d; cd $d; done; touch last")
	}
	must(t, k.Delete(t.Context(), dir, true))
	only, err := k.Remove(t.Context(), uuid, "")
	kept := only.Exist()
	must(t, err)
	if kept || exists(dir) || exists(home) || exists(k.dataPath("workspaces", ".mirrors/"+uuid)) {
		t.Error("something stays")
	}
	equal(t, "outside", string(mustRead(t, filepath.Join(outside, "d/s"))), "outside\n")
}

// A deletion ends beside a program that goes on making files, removes nothing outside, and can be repeated.
func TestADeletionEndsBesideAProgramThatMakesFiles(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	write(t, outside, "e/s", "outside\n")
	k, _, dir := cloned(t)
	must(t, os.Symlink(outside, filepath.Join(dir, "l")))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			made := filepath.Join(dir, fmt.Sprint("d", i%50))
			_ = os.MkdirAll(filepath.Join(made, "e"), 0o750)
			_ = os.WriteFile(filepath.Join(made, "e", fmt.Sprint(i)), nil, 0o600)
			_ = unix.Renameat2(unix.AT_FDCWD, made, unix.AT_FDCWD, filepath.Join(dir, "l"), unix.RENAME_EXCHANGE)
			_ = os.Symlink(outside, filepath.Join(dir, "l"))
		}
	}()
	for range 5 {
		if err := k.Delete(t.Context(), dir, true); err != nil && protocol.CodeOf(err) != protocol.CodeConflict &&
			protocol.CodeOf(err) != protocol.CodeNotFound {
			t.Errorf("beside a program: %v", err)
		}
	}
	stop()
	<-ended
	must(t, os.MkdirAll(dir, 0o700))
	rec, err := k.readRecord(uuid)
	must(t, err)
	must(t, k.removeTree(t.Context(), rec.Session, dir))
	if exists(dir) {
		t.Error("the workspace stays")
	}
	equal(t, "outside", string(mustRead(t, filepath.Join(outside, "e/s"))), "outside\n")
}

// Confined processes remove and measure: the host walks through no directory that an agent can change.
func TestADeletionIsMadeByAConfinedProcess(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	_, home, err := k.Dir(t.Context(), uuid, "shop")
	must(t, err)
	write(t, home, "x", "x")
	refused := errors.New("no process")
	k.SetReader("", func(string, string, bool, process.Command) (process.Command, error) {
		return process.Command{}, refused
	})
	errDelete := k.Delete(t.Context(), dir, true)
	_, errRemove := k.Remove(t.Context(), uuid, "")
	_, errSize := k.Info(t.Context(), dir)
	for _, err := range []error{errDelete, errRemove, errSize} {
		if !errors.Is(err, refused) {
			t.Errorf("without a process: %v", err)
		}
	}
	if !exists(filepath.Join(dir, "README")) || !exists(filepath.Join(home, "x")) {
		t.Error("files were removed")
	}
}
