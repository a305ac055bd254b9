//go:build unix

package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"bellhop/crypto/seal"
	"bellhop/internal/process"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

func TestASecondHostOnADirectoryTouchesNothingThere(t *testing.T) {
	t.Parallel()
	c := HostConfig{
		Listen: "127.0.0.1:0", Password: seal.NewSecret("a-password-of-tests-only"), Data: t.TempDir(), NoSandbox: true, DemoAgent: []string{"sleep", "600"},
		Log: slog.New(slog.DiscardHandler),
	}
	first, err := OpenHost(c)
	testenv.Must(t, err)
	agent, err := process.Start(process.Command{Args: []string{"sleep", "600"}, Records: c.records()})
	testenv.Must(t, err)
	t.Cleanup(func() { _ = agent.Kill() })
	before := namesIn(t, c.Data)

	second, err := OpenHost(c)
	if err == nil {
		testenv.Must(t, second.Close())
	}
	if protocol.CodeOf(err) != protocol.CodeConflict {
		t.Errorf("a second host: %v", err)
	}
	select {
	case <-agent.Done():
		t.Error("the second host has ended an agent of the first")
	default:
	}
	if after := namesIn(t, c.Data); after != before {
		t.Errorf("files of before: %s\nfiles now: %s", before, after)
	}

	// The first one's end frees the directory, and what is left of it is ended.
	testenv.Must(t, first.Close())
	second, err = OpenHost(c)
	testenv.Must(t, err)
	<-agent.Done()
	testenv.Must(t, second.Close())
}

// namesIn lists the files below a directory.
func namesIn(t *testing.T, dir string) (names string) {
	t.Helper()
	testenv.Must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names += path + "\n"
		return err
	}))
	return names
}
