package usershell

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A helper whose host is gone hangs up: programs may save their work, and none is left. A host that nohup started
// ignores SIGHUP; its terminals do not.
func TestTheEndOfInputHangsUpTheTerminalsPrograms(t *testing.T) {
	t.Parallel()
	const script = `trap 'wait $!; exit $?' HUP
sh -c 'trap "exit 7" HUP; echo ready; while :; do sleep 0.01; done' &
wait`
	for name, ignored := range map[string]string{"as usual": "WINCH", "below nohup": "HUP"} {
		t.Run(name, func(t *testing.T) {
			exitsWithSeven(t, ignored, script, io.Closer.Close)
		})
	}
}

// A script starts what it ends with & such that it ignores SIGINT.
func TestControlCReachesAProgramBelowAHostThatIgnoresIt(t *testing.T) {
	t.Parallel()
	const script = `trap 'exit 7' INT; echo ready; while :; do sleep 0.01; done`
	exitsWithSeven(t, "INT", script, func(input io.Closer) error {
		_, err := input.(io.Writer).Write(appendFrame(nil, frameInput, []byte{3}))
		return err
	})
}

// exitsWithSeven runs a script in a helper that ignores signals, acts on its input when the script is ready, and
// wants the exit status 7.
func exitsWithSeven(t *testing.T, ignored, script string, act func(input io.Closer) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // for a script that goes on
	defer cancel()
	helper := exec.CommandContext(ctx, "sh", "-c", `trap "" `+ignored+`; exec "$@"`, "sh",
		os.Args[0], helperCommand, "80", "24", "sh", "-c", script)
	input, err := helper.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := helper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() && !strings.Contains(lines.Text(), "ready") {
	}
	if err := act(input); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := helper.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("the shell ended with %v, not with the status of its program", err)
	}
}
