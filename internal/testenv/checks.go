package testenv

import (
	"testing"

	"bellhop/protocol"
)

// Must ends the test at an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WantCode fails the test unless err has the code; "" means no error.
func WantCode(t testing.TB, err error, want protocol.Code) {
	t.Helper()
	if got := protocol.CodeOf(err); got != want {
		t.Errorf("code %q, want %q: %v", got, want, err)
	}
}
