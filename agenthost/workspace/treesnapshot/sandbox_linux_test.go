package treesnapshot

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bellhop/agenthost/sandbox"
	"bellhop/agenthost/workspace/treereader"
	"bellhop/agenthost/workspace/worktreetest"
	"bellhop/internal/process"
	"bellhop/internal/testenv"
)

// confined returns a Read whose reader runs in a sandbox.
func (h *host) confined(options sandbox.Options) Read {
	h.t.Helper()
	options.Self, options.Data = os.Args[0], h.t.TempDir()
	opened, err := sandbox.Open(h.t.Context(), options)
	must(h.t, err)
	c, err := opened.ConfineReader(nil, []string{h.request.Root}, nil, process.Command{
		Args: []string{os.Args[0], treereader.Command}, Dir: "/",
	})
	must(h.t, err)
	if len(c.Args) == 2 {
		h.t.Fatalf("no sandbox: %s", opened.Level().Summary())
	}
	return Process(c, &h.request)
}

// TestSnapshotsOfARacedTree takes snapshots through the sandbox while a program exchanges directories and files for
// links to a secret, which the host could read.
func TestSnapshotsOfARacedTree(t *testing.T) {
	t.Parallel()
	const secret = "SECRET-77aa"
	for name, options := range map[string]sandbox.Options{"namespaces": {}, "Landlock alone": {NoNamespaces: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside, root := t.TempDir(), t.TempDir()
			worktreetest.Shell(t, outside, "for i in $(seq 100); do echo "+secret+" >f$i; done; chmod 600 *")
			worktreetest.Shell(t, root, "git init -q; mkdir d; for i in $(seq 100); do echo inside >d/f$i; done; echo f>f; "+
				"ln -s "+outside+" l; ln -s "+outside+"/f1 k; mkfifo p")
			h := openHost(t, root, "sha1", "", "")
			read := h.confined(options)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				pairs := [][2]string{{"d", "l"}, {"f", "k"}, {"f", "p"}}
				for i := 0; ctx.Err() == nil; i++ {
					pair := pairs[i/2%len(pairs)] // each exchange is undone by the next one
					_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(root, pair[0]), unix.AT_FDCWD, filepath.Join(root, pair[1]), unix.RENAME_EXCHANGE)
				}
			}()
			for range testenv.Rounds(t) {
				s, err := h.Take(t.Context(), t.TempDir(), read)
				if err != nil {
					t.Error(err)
					break
				}
				cmd := exec.CommandContext(t.Context(), "git", "--git-dir", h.GitDir(), "grep", "-c", secret, s.ID)
				if out, err := cmd.Output(); err == nil || bytes.Contains(out, []byte(":")) {
					t.Errorf("the snapshot has the secret: %s", out)
				}
			}
			stop()
			<-ended
		})
	}
}
