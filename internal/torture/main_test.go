//go:build linux

package torture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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

// long selects the long form of `make test-long`.
var long = os.Getenv("BELLHOP_LONG") != ""

var builtIn string // the folder of the binary

// build compiles the binary once for all tests that need it.
var build = sync.OnceValues(func() (path string, err error) {
	if builtIn, err = os.MkdirTemp("", "bellhop-torture-"); err != nil {
		return "", err
	}
	return buildIn("", filepath.Join(builtIn, "bellhop"))
})

// buildIn compiles the command of the module in a folder; "" = this one.
func buildIn(folder, path string) (string, error) {
	cmd := exec.Command("go", "build", "-o", path, "bellhop/cmd/bellhop")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return path, nil
}

func binary(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// seed is the one to repeat, or a random one.
func seed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("BELLHOP_SEED")
	if text == "" {
		return rand.Uint64N(1 << 32)
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("BELLHOP_SEED: %v", err)
	}
	return n
}

// run runs rounds and fails the test unless all of them were without a violation.
func run(t *testing.T, opts Options) *Report {
	t.Helper()
	var progress bytes.Buffer
	opts.Binary, opts.Out = binary(t), &progress
	t.Logf("BELLHOP_SEED=%d repeats this run", opts.Seed)
	report, err := Run(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + report.Markdown())
	if !report.OK() {
		t.Errorf("the promise was broken, or a round could not be finished\n%s", progress.String())
		for _, name := range []string{"broker-1", "broker-2", "host-1", "host-2"} {
			t.Logf("the end of %s:\n%s", name, tail(opts.Dir, name))
		}
	}
	return report
}

// tail returns the last lines of a server's log, if its round was kept.
func tail(dir, server string) string {
	var all []string
	files, _ := filepath.Glob(filepath.Join(dir, "round-*", server+".log"))
	for _, file := range files {
		content, _ := os.ReadFile(file)
		lines := strings.Split(string(content), "\n")
		all = append(all, lines[max(0, len(lines)-30):]...)
	}
	return strings.Join(all, "\n")
}
