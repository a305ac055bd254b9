//go:build !failpoints

package failpoint

import (
	"os"
	"os/exec"
	"testing"
)

// victim marks the test binary that starts itself.
const victim = "BELLHOP_FAILPOINT_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(victim) != "" {
		Hit("here")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestWithoutTheTagNoVariableKillsTheProcess(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victim+"=1", Env+"=here")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The tests of fail points themselves need the tag, which "go test ./..." does not have.
func TestWithTheTagTheTestsOfFailPointsPass(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "test", "-count=1", "-tags", Tag, ".").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
