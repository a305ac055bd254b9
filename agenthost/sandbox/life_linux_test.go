package sandbox

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"bellhop/internal/process"
)

// start starts a shell script in the sandbox as a host does.
func (m *machine) start(script string) *process.Process {
	m.Helper()
	p, err := process.Start(m.command("sh", "-c", script))
	must(m.T, err)
	m.Cleanup(func() { _ = p.Kill(); _ = p.Stdout().Close() })
	return p
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

func TestAProgramEndsAsWithoutASandbox(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script, output string
		signal         syscall.Signal
		code           int
	}{
		"its exit code": {script: "echo ready; exit 7", output: "ready\n", code: 7},
		"programs that it started in the background end too": {
			script: "sleep 1000 & setsid sleep 1000 & echo ready", output: "ready\n",
		},
		"an interrupt arrives once": {
			`trap 'echo int; n=1' INT; echo ready; while [ -z "$n" ]; do sleep 0.01; done; exit 3`, "ready\nint\n",
			syscall.SIGINT, 3,
		},
		"a termination arrives": {
			`trap 'echo term; exit 4' TERM; echo ready; while :; do sleep 0.01; done`, "ready\nterm\n", syscall.SIGTERM, 4,
		},
		"a closed output is seen":         {script: "echo ready; exec >&- 2>&-; sleep 1000", output: "ready\n", code: -1},
		"it is killed with what it began": {"sleep 1000 & echo ready; wait", "ready\n", syscall.SIGKILL, -1},
	} {
		t.Run(name, func(t *testing.T) {
			p := newMachine(t, Options{}).start(c.script)
			stdout := bufio.NewReader(p.Stdout())
			first, err := stdout.ReadString('\n')
			must(t, err)
			if c.signal != 0 {
				must(t, syscall.Kill(-p.Pid(), c.signal))
			}
			rest, err := io.ReadAll(stdout) // ends with the last process that holds it
			must(t, err)
			if c.code < 0 {
				must(t, p.Kill())
			}
			if code := exitCode(p.Wait()); code != c.code || first+string(rest) != c.output {
				t.Errorf("exit code %d, output %q, stderr %s", code, first+string(rest), strings.Join(p.Tail(), "\n"))
			}
		})
	}
}
