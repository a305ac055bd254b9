//go:build failpoints

package failpoint

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// The test binary starts itself with this variable as the process to be killed.
const victim = "BELLHOP_FAILPOINT_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(victim) != "" {
		for i := range 5 {
			fmt.Println("before", i)
			Hit("here")
			fmt.Println("after", i)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func TestAProcessIsKilledAtTheNthHitOfAListedPoint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, spec, out string
		killed          bool
	}{
		{"a bare name is the first hit", "here", "before 0\n", true},
		{"name:N is the Nth hit", "elsewhere,here:2", "before 0\nafter 0\nbefore 1\n", true},
		{
			"a count that is never reached", "here:9",
			"before 0\nafter 0\nbefore 1\nafter 1\nbefore 2\nafter 2\nbefore 3\nafter 3\nbefore 4\nafter 4\n", false,
		},
		{
			"an unlisted point", "elsewhere",
			"before 0\nafter 0\nbefore 1\nafter 1\nbefore 2\nafter 2\nbefore 3\nafter 3\nbefore 4\nafter 4\n", false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), victim+"=1", Env+"="+c.spec)
			out, err := cmd.Output()
			if string(out) != c.out {
				t.Errorf("printed %q, want %q", out, c.out)
			}
			var exit *exec.ExitError
			killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
			if killed != c.killed {
				t.Errorf("killed = %v (%v), want %v", killed, err, c.killed)
			}
		})
	}
}

func TestSetCallsAtEveryHitUntilRestored(t *testing.T) {
	t.Parallel()
	hits := 0
	restore := Set("a", func() { hits++ })
	inner := Set("a", func() { hits += 10 })
	Hit("a")
	Hit("b")
	inner()
	inner()
	Hit("a")
	Hit("a")
	restore()
	Hit("a")
	if hits != 12 {
		t.Errorf("hits = %d, want 12", hits)
	}
	if armed.Load() != nil {
		t.Error("still armed after the last restore")
	}
}

func TestAMalformedListIsRefused(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"a:0", "a:x", "a:", ",", "a,,b", ":3"} {
		t.Run(spec, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			parse(spec, func() {})
		})
	}
}
