package claude_test

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"
)

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

// found returns a Find that always succeeds.
func found(path string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return path, nil }
}
