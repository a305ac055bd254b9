//go:build linux

package torture

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"bellhop/internal/testenv"
)

// tellTime makes the test binary write the time for each line that it reads.
const tellTime = "BELLHOP_TORTURE_TELL_TIME"

func tellTimes(in io.Reader, out io.Writer) {
	start := time.Now()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		_, _ = fmt.Fprintln(out, time.Now().Unix(), int64(time.Since(start)/time.Second))
	}
}

// Only the wall clock of the process is stepped, as often as one likes: not its monotonic clock, and no clock
// of another process.
func TestTheClockOfOneProcessIsStepped(t *testing.T) {
	if why := noClocks(); why != "" {
		t.Log("no clock faults here: " + why)
		return
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), tellTime+"=1")
	in, err := cmd.StdinPipe()
	testenv.Must(t, err)
	out, err := cmd.StdoutPipe()
	testenv.Must(t, err)
	testenv.Must(t, cmd.Start())
	answers := bufio.NewScanner(out)
	const year = 365 * 24 * time.Hour
	for _, offset := range []time.Duration{0, time.Second, -time.Hour, 2 * year, -2 * year, 0} {
		testenv.Must(t, stepClock(cmd.Process.Pid, offset))
		before := time.Now().Unix()
		_, err := io.WriteString(in, "\n")
		testenv.Must(t, err)
		if !answers.Scan() {
			t.Fatal(answers.Err())
		}
		after := time.Now().Unix()
		wall, passed, _ := strings.Cut(answers.Text(), " ")
		n, err := strconv.ParseInt(wall, 10, 64)
		testenv.Must(t, err)
		n -= int64(offset / time.Second)
		if elapsed, err := strconv.ParseInt(passed, 10, 64); err != nil || elapsed < 0 || elapsed > int64(year/time.Second/2) {
			t.Errorf("%v: %s s have passed, %v", offset, passed, err)
		}
		if n < before || n > after {
			t.Errorf("%v: the process is at %d, want %d to %d", offset, n, before, after)
		}
	}
	testenv.Must(t, in.Close())
	testenv.Must(t, cmd.Wait())
}
