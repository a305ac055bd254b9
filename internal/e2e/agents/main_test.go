//go:build agents

package agents

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

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

// build compiles the binary once for all tests.
var build = sync.OnceValues(func() (path string, err error) {
	if builtIn, err = os.MkdirTemp("", "bellhop-agents-"); err != nil {
		return "", err
	}
	path = filepath.Join(builtIn, "bellhop")
	cmd := exec.Command("go", "build", "-o", path, "bellhop/cmd/bellhop")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	return path, cmd.Run()
})
