package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// parentDir is the variable that makes this test binary a parent to be killed: see the tests of
// Sweep.
const parentDir = "PROCESS_TEST_PARENT_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentDir); dir != "" {
		parent(dir)
	}
	goleak.VerifyTestMain(m)
}

// environment is the minimum that sh needs.
var environment = []string{"PATH=" + os.Getenv("PATH")}

func start(t *testing.T, c Command) *Process {
	t.Helper()
	if c.Env == nil {
		c.Env = environment
	}
	p, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
		if p.Stdout() != nil {
			_ = p.Stdout().Close()
		}
	})
	return p
}

func shell(script string) Command { return Command{Args: []string{"sh", "-c", script}} }

// until reads stdout until it contains want.
func until(t *testing.T, p *Process, want string) {
	t.Helper()
	got := ""
	for piece := make([]byte, 100); !strings.Contains(got, want); {
		n, err := p.Stdout().Read(piece)
		if got += string(piece[:n]); err != nil {
			t.Fatalf("stdout ended with %v after %q, without %q", err, got, want)
		}
	}
}

// allGone reads stdout to its end, which comes when no process holds the other side open.
func allGone(t *testing.T, p *Process) {
	t.Helper()
	if _, err := io.Copy(io.Discard, p.Stdout()); err != nil {
		t.Fatal(err)
	}
}

func TestChildUsesItsPipes(t *testing.T) {
	t.Parallel()
	p := start(t, Command{
		Args: []string{"sh", "-c", `read line; echo "$line in $PWD with $A"; echo oops >&2`},
		Dir:  "/", Env: []string{"A=b"},
	})
	if _, err := io.WriteString(p.Stdin(), "hello\n"); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	// After the exit all output can still be read.
	out, err := io.ReadAll(p.Stdout())
	if err != nil || string(out) != "hello in / with b\n" {
		t.Errorf("stdout %q, %v", out, err)
	}
	if got := p.Tail(); !slices.Equal(got, []string{"oops"}) {
		t.Errorf("stderr %q", got)
	}
}

func TestOutputKeepsTheOrderOfBothStreams(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := shell("echo 1; echo 2 >&2; echo 3; exit 7")
	c.Output = &out
	p := start(t, c)
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("ended with %v", err)
	}
	if out.String() != "1\n2\n3\n" {
		t.Errorf("output %q", out.String())
	}
}

func TestStartRefusesProgramsThatCannotRun(t *testing.T) {
	t.Parallel()
	records := t.TempDir()
	for name, c := range map[string]Command{
		"no program":           {},
		"unknown program":      {Args: []string{"no-such-program-here"}, Records: records},
		"missing directory":    {Args: []string{"sh"}, Dir: "/no/such/directory", Records: records},
		"no room for a record": {Args: []string{"sh"}, Records: "/no/such/directory"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Start(c); err == nil {
				t.Fatal("started")
			}
			if left, _ := filepath.Glob(records + "/*"); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

func TestStopEscalatesItsSignals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		want   []string // signals seen
	}{
		"SIGINT is enough": {
			`trap 'echo int >&2; exit' INT; echo ready; while :; do read line; done`, []string{"int"},
		},
		"SIGTERM follows": {
			`trap 'echo int >&2' INT; trap 'echo term >&2; exit' TERM; echo ready; while :; do read line; done`,
			[]string{"int", "term"},
		},
		"SIGKILL ends what stays": {
			`trap 'echo int >&2' INT; trap 'echo term >&2' TERM; echo ready; while :; do read line; done`,
			[]string{"int", "term"},
		},
		"the complete group gets them": {
			`trap '' INT; (trap 'echo child >&2; exit' TERM; echo ready; while :; do :; done) & trap 'wait; exit' TERM; while :; do wait; done`,
			[]string{"child"},
		},
		"a group ignoring both": {
			`trap '' INT TERM; (sleep 1000; echo) & (sleep 1000; echo) & echo ready; wait`, []string{},
		},
		"children outliving a parent": {
			`(trap '' INT TERM; sleep 1000; echo) & trap exit INT; echo ready; while :; do read line; done`, []string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, shell(c.script))
			until(t, p, "ready")
			if err := p.Stop(t.Context(), 300*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			allGone(t, p)
			if got := p.Tail(); !slices.Equal(got, c.want) {
				t.Errorf("signals %q, want %q", got, c.want)
			}
		})
	}
}

func TestStopKillsAtOnceWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	p := start(t, shell(`trap '' INT TERM; echo ready; while :; do read line; done`))
	until(t, p, "ready")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Stop(ctx, time.Hour); err != nil {
		t.Fatal(err)
	}
	allGone(t, p)
}

func TestAChildsExitEndsItsGroup(t *testing.T) {
	t.Parallel()
	p := start(t, shell(`trap '' INT TERM HUP; (sleep 1000; echo) & exit 3`))
	allGone(t, p)
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("ended with %v", err)
	}
	for range 3 { // an ended child is stopped already
		if err := errors.Join(p.Stop(t.Context(), 0), p.Kill()); err != nil {
			t.Error(err)
		}
	}
}

func TestTailIsBounded(t *testing.T) {
	t.Parallel()
	tail := &tail{}
	for i := range 1000 {
		_, _ = fmt.Fprintf(tail, "line %d\n", i)
	}
	_, _ = tail.Write([]byte(strings.Repeat("x", 5<<20)))
	got := tail.lines()
	if len(got) != tailLines || got[0] != "line 951" || got[tailLines-1] != strings.Repeat("x", tailLineBytes) {
		t.Errorf("%d lines from %q, the last of %d bytes", len(got), got[0], len(got[len(got)-1]))
	}
	_, _ = tail.Write([]byte("\nbad \xff\x00 bytes\r\n"))
	if last := tail.lines()[tailLines-1]; last != "bad \uFFFD\uFFFD bytes" {
		t.Errorf("last line %q", last)
	}
}

func TestRecordsExistWhileTheChildRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := shell("read line")
	c.Records = dir
	p := start(t, c)
	files, _ := filepath.Glob(dir + "/*")
	if len(files) != 1 {
		t.Fatalf("records of a running child: %v", files)
	}
	body, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var r record
	if err := json.Unmarshal(body, &r); err != nil || r.Pid != p.Pid() || r.Start == 0 || r.Mark == "" {
		t.Errorf("record %s, %v", body, err)
	}
	_ = p.Stdin().Close()
	_ = p.Wait()
	if files, _ := filepath.Glob(dir + "/*"); len(files) != 0 {
		t.Errorf("records of an ended child: %v", files)
	}
}

func TestSweepLeavesOtherProcessesAlone(t *testing.T) {
	t.Parallel()
	otherProcess := start(t, shell("read line; echo alive"))
	boot := bootID()
	startOf, err := startTime(otherProcess.Pid())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	own, err := directoryID(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"reused-pid.json": fmt.Sprintf(`{"mark":%q,"boot":%q,"pid":%d,"start":%d,"directory":%q}`, newMark(), boot,
			otherProcess.Pid(), startOf-1, own),
		"old-boot.json": fmt.Sprintf(`{"mark":%q,"boot":"before","pid":%d,"start":%d,"directory":%q}`, newMark(),
			otherProcess.Pid(), startOf, own),
		"no-mark.json":  fmt.Sprintf(`{"boot":%q,"pid":%d,"start":%d,"directory":%q}`, boot, otherProcess.Pid(), startOf, own),
		"gone.json":     fmt.Sprintf(`{"mark":%q,"boot":%q,"pid":999999999,"start":1,"directory":%q}`, newMark(), boot, own),
		"no-pid.json":   fmt.Sprintf(`{"mark":%q,"boot":%q,"pid":-1,"start":1,"directory":%q}`, newMark(), boot, own),
		"damaged.json":  `{"mark`,
		"half.json.new": `{`,
		"notes.txt":     `not ours`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if swept, err := Sweep(dir); swept != 0 || err != nil {
		t.Errorf("swept %d, %v", swept, err)
	}
	if left, _ := filepath.Glob(dir + "/*"); !slices.Equal(left, []string{filepath.Join(dir, "notes.txt")}) {
		t.Errorf("left %v", left)
	}
	_, _ = io.WriteString(otherProcess.Stdin(), "\n")
	until(t, otherProcess, "alive")
}

func TestSweepOfACopiedDirectoryLeavesTheOriginalsProcessesAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := shell("read line; echo alive")
	c.Records = dir
	p := start(t, c)
	copied := filepath.Join(t.TempDir(), "records")
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if swept, err := Sweep(copied); swept != 0 || err != nil {
		t.Errorf("swept %d, %v", swept, err)
	}
	if left, _ := filepath.Glob(copied + "/*"); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	_, _ = io.WriteString(p.Stdin(), "\n")
	until(t, p, "alive")
}

func TestSweepOfARenamedDirectoryEndsItsProcesses(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "before")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c := shell("read line")
	c.Records = dir
	p := start(t, c)
	renamed := dir + "-now"
	if err := os.Rename(dir, renamed); err != nil {
		t.Fatal(err)
	}
	if swept, err := Sweep(renamed); swept != 1 || err != nil {
		t.Errorf("swept %d, %v", swept, err)
	}
	_ = p.Wait()
}

func TestSweepOfNothing(t *testing.T) {
	t.Parallel()
	if swept, err := Sweep(filepath.Join(t.TempDir(), "missing")); swept != 0 || err != nil {
		t.Errorf("swept %d, %v", swept, err)
	}
}

func TestStartSucceedsForAChildThatExitsAtOnce(t *testing.T) {
	t.Parallel()
	for range 100 {
		p, err := Start(Command{Args: []string{"true"}, Records: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}
