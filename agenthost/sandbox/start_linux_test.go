package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost/sandbox/launch"
	"bellhop/internal/owner"
	"bellhop/internal/process"
)

// BenchmarkStart measures the start of a program that exits at once, and the memory of the
// launcher and its init while a program runs. BELLHOP_LAUNCHER is the bellhop binary to start
// it with, in place of the test's own, which is smaller.
func BenchmarkStart(b *testing.B) {
	bridge := []launch.Bridge{{Port: 7001, To: "127.0.0.1:1"}}
	user := &owner.ID{UID: 1_900_000_001, GID: 1_900_000_000}
	roots, err := os.MkdirTemp("/var/tmp", "bellhop-") // shown to the user as its own
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(roots) }()
	for name, spec := range map[string]*launch.Spec{
		"outside": nil, "landlock": {},
		"namespaces": {Namespaces: true}, "network": {Namespaces: true, Network: true, Bridges: bridge},
		"user":   {Namespaces: true, Network: true, Bridges: bridge, User: user},
		"mapped": {Namespaces: true, Network: true, Bridges: bridge, User: user, Write: []string{roots}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if out, err := benchmarked(b, spec, "/bin/true").CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
			}
			b.ReportMetric(float64(memory(b, spec))/(1<<20), "MB")
		})
	}
}

// benchmarked returns a command of the system in the sandbox, or outside.
func benchmarked(b *testing.B, spec *launch.Spec, args ...string) *exec.Cmd {
	b.Helper()
	if spec != nil {
		confined := *spec
		confined.Read, confined.UnixSockets = []string{"/usr"}, true
		var err error
		if args, err = confined.CommandLine(cmp.Or(os.Getenv("BELLHOP_LAUNCHER"), os.Args[0]), args); err != nil {
			b.Fatal(err)
		}
	}
	cmd := exec.CommandContext(b.Context(), args[0], args[1:]...)
	cmd.Dir = "/usr"
	return cmd
}

// memory returns the proportional memory of the processes that run beside a program, in
// bytes.
func memory(b *testing.B, spec *launch.Spec) (sum int64) {
	b.Helper()
	cmd := benchmarked(b, spec, "/bin/sh", "-c", "echo ready; exec sleep 1000")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if _, err := stdout.Read(make([]byte, 8)); err != nil {
		b.Fatal(err)
	}
	for pid := cmd.Process.Pid; ; {
		exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if filepath.Base(exe) != filepath.Base(os.Args[0]) {
			return sum
		}
		rollup, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		for line := range strings.Lines(string(rollup)) {
			var kilobytes int64
			if _, err := fmt.Sscanf(line, "Pss: %d kB", &kilobytes); err == nil {
				sum += kilobytes << 10
			}
		}
		children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		for _, list := range children {
			content, _ := os.ReadFile(list)
			_, _ = fmt.Sscan(string(content), &pid)
		}
	}
}

func TestALauncherThatCannotConfineStartsNothing(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no spec":            {},
		"not JSON":           {"{", "--", "/bin/true"},
		"an unknown member":  {`{"all":true}`, "--", "/bin/true"},
		"no program":         {`{}`, "--"},
		"a relative program": {`{}`, "--", "true"},
		"a missing program":  {`{}`, "--", "/nowhere/program"},
		"a forbidden one":    {`{}`, "--", "/root/program"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], slices.Concat([]string{launch.Command}, args)...)
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != launch.Failed || !strings.HasPrefix(string(out), "bellhop: ") {
				t.Errorf("%v, %s", err, out)
			}
		})
	}
}

// Secrets are in the environment only: arguments are visible to every process.
func TestTheSpecHoldsNoEnvironment(t *testing.T) {
	t.Parallel()
	m := newMachine(t, Options{})
	c, err := m.sandbox.Confine(Session{Home: m.Home}, process.Command{
		Args: []string{"true"}, Env: []string{"KEY=canary"},
	})
	must(t, err)
	defer process.RemoveGroup(c.Group)
	if strings.Contains(strings.Join(c.Args, " "), "canary") || !slices.Contains(c.Env, "KEY=canary") {
		t.Errorf("%v", c)
	}
}
