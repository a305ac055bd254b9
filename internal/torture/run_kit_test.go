//go:build linux && full

package torture

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bellhop/internal/testenv"
)

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
	opts.Binary, opts.Out = testenv.Binary(t), &progress
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
