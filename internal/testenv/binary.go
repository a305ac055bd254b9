package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"bellhop/internal/failpoint"
)

// BinaryVariable names a program that was built before, with the fail points, for the tests that start
// processes of bellhop. Under the race detector it is not used.
const BinaryVariable = "BELLHOP_TEST_BINARY"

// Binary returns the path of a program of this source with the fail points.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := BinaryPath()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// BinaryPath is Binary for a goroutine that is not the test's.
func BinaryPath() (string, error) { return binary.path() }

// binary is the program of this test binary.
var binary = &program{}

type program struct {
	once   sync.Once
	folder string // of a program that was built here
	file   string
	err    error
}

func (p *program) path() (string, error) {
	p.once.Do(func() { p.file, p.err = p.find() })
	return p.file, p.err
}

func (p *program) find() (string, error) {
	if file := os.Getenv(BinaryVariable); file != "" && raceFlags == nil {
		// Go's cache of test results compares what a test has called os.Stat for, so a changed program runs the tests again.
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || !filepath.IsAbs(file) {
			return "", fmt.Errorf("%s must be the absolute path of a program, not %q: %w", BinaryVariable, file, err)
		}
		return file, nil
	}
	var err error
	if p.folder, err = os.MkdirTemp("", "bellhop-binary-"); err != nil {
		return "", err
	}
	return BuildBinary("", filepath.Join(p.folder, "bellhop"))
}

func (p *program) remove() error {
	if p.folder == "" {
		return nil
	}
	return os.RemoveAll(p.folder)
}

// BuildBinary compiles the program of the module in a folder, "" for this one, to a file. It has the race
// detector if the test has.
func BuildBinary(folder, file string) (string, error) {
	args := append([]string{"build", "-tags", failpoint.Tag, "-ldflags", "-s -w"}, raceFlags...)
	cmd := exec.Command("go", append(args, "-o", file, "bellhop/cmd/bellhop")...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "CGO_ENABLED=0")
	if raceFlags != nil {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("build bellhop: %w", err), errors.New(string(out)))
	}
	return file, nil
}
