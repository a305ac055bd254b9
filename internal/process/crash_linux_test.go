package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// parent starts a child with two descendants, one in its group and one that left it, and waits
// to be killed. Each of the three holds its own FIFO open.
func parent(dir string) {
	switch dir {
	case "lone":
		_, _ = Start(Command{Args: []string{"sh", "-c", "echo ready; exec sleep 1000"}, Env: environment, Output: os.Stderr})
		select {}
	case "nested":
		_, _ = Start(Command{
			Args: []string{"sh", "-c", "(sleep 1000; echo) & echo ready; wait"}, Env: environment, Output: os.Stdout,
		})
		select {}
	}
	_, err := Start(Command{
		Args: []string{
			"sh", "-c",
			`trap '' INT TERM HUP; (sleep 1000; echo) >group & setsid sh -c 'sleep 1000; echo' >away & (sleep 1000; echo) >child`,
		},
		Dir:     dir,
		Env:     environment,
		Records: filepath.Join(dir, "records"),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

// fifo returns a FIFO's path. Its reader sees the end when no process holds the other side
// open.
func fifo(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestSweepKillsTheDescendantsOfAKilledParent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	records := filepath.Join(dir, "records")
	if err := os.Mkdir(records, 0o700); err != nil {
		t.Fatal(err)
	}
	group, away, child := fifo(t, dir, "group"), fifo(t, dir, "away"), fifo(t, dir, "child")
	crashing := exec.Command(os.Args[0])
	crashing.Env = append(os.Environ(), parentDir+"="+dir)
	crashing.Stderr = os.Stderr
	if err := crashing.Start(); err != nil {
		t.Fatal(err)
	}
	held := []*os.File{open(t, group), open(t, away), open(t, child)}
	if err := crashing.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = crashing.Wait()
	if swept, err := Sweep(records); swept != 1 || err != nil {
		t.Errorf("swept %d, %v", swept, err)
	}
	for _, f := range held {
		if output, err := io.ReadAll(f); len(output) > 0 || err != nil {
			t.Errorf("%s contains %q, %v", f.Name(), output, err)
		}
	}
	if left, _ := filepath.Glob(records + "/*"); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestTheKernelEndsTheChildOfAKilledParent(t *testing.T) {
	t.Parallel()
	crashing := exec.Command(os.Args[0])
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = read.Close() }()
	crashing.Env = append(os.Environ(), parentDir+"=lone")
	crashing.Stderr = write // inherited by the child, which writes to it when it runs
	if err := crashing.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	if _, err := read.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := crashing.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = crashing.Wait()
	if _, err := io.Copy(io.Discard, read); err != nil { // ends with the child
		t.Error(err)
	}
}

func TestStopFindsDescendantsThatLeftTheGroup(t *testing.T) {
	t.Parallel()
	p := start(t, shell(`trap '' INT TERM; setsid sh -c 'echo ready; sleep 1000; echo' & wait`))
	until(t, p, "ready")
	if err := p.Stop(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	allGone(t, p)
}

func TestAKilledChildsOwnChildrenAreFound(t *testing.T) {
	t.Parallel()
	p := start(t, Command{Args: []string{os.Args[0]}, Env: append([]string{parentDir + "=nested"}, environment...)})
	until(t, p, "ready")
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	allGone(t, p)
}
