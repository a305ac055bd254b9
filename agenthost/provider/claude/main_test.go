package claude_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// mark in the environment tells the processes of one test.
const mark = "CLAUDE_TEST_MARK"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(playFake) != "":
		fake()
		return
	case os.Getenv(playChat) != "":
		chat()
		return
	}
	goleak.VerifyTestMain(m)
}

// endsAtOnce makes a fake with the race detector end at once; it waits a second else.
const endsAtOnce = "GORACE=atexit_sleep_ms=0"

// running names the processes whose environment carries a test's mark.
func running(t *testing.T) func() []string {
	return func() []string {
		var found []string
		environments, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range environments {
			if env, err := os.ReadFile(path); err == nil && bytes.Contains(env, []byte(mark+"="+t.Name()+"\x00")) {
				found = append(found, filepath.Dir(path))
			}
		}
		return found
	}
}

// found is a Find of a known program.
func found(path string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return path, nil }
}
