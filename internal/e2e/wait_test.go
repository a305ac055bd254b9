package e2e

import (
	"testing"
	"time"
)

// patience only prevents a hang: the awaited event happens or the test fails.
const patience = 3 * time.Minute

// eventually polls, because the other side is another process.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for !is() {
		select {
		case <-limit.C:
			t.Fatalf("waited %v in vain: %s", patience, what)
		case <-t.Context().Done():
			t.Fatalf("the test ended before: %s", what)
		case <-poll.C:
		}
	}
}
