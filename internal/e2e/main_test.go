package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"bellhop/internal/failpoint"
	"bellhop/internal/testenv"
)

func TestMain(m *testing.M) {
	code := testenv.Main(m)
	if builtIn != "" {
		_ = os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

var builtIn string // the folder of the binary

// build compiles the binary once for all tests that need it.
var build = sync.OnceValues(func() (path string, err error) {
	if builtIn, err = os.MkdirTemp("", "bellhop-e2e-"); err != nil {
		return "", err
	}
	path = filepath.Join(builtIn, "bellhop")
	cmd := exec.Command("go",
		append(append([]string{"build", "-tags", failpoint.Tag}, raceFlags...), "-o", path, "bellhop/cmd/bellhop")...)
	if cmd.Env = append(os.Environ(), "CGO_ENABLED=0"); raceFlags != nil {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	cmd.Stderr = os.Stderr
	return path, cmd.Run()
})

func binary(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatalf("build the binary: %v", err)
	}
	return path
}
