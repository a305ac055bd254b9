package sandbox

import (
	"strings"
	"testing"
)

func TestALevelThatNoTestHasVerifiedIsMarked(t *testing.T) {
	t.Parallel()
	level := newLevel(ModeOn, map[string]bool{escapeRead: false}, nil)
	level.Unverified = true
	const want = "on (sandbox-exec of macOS, which Bellhop's tests have not verified"
	if got := level.Summary(); !strings.HasPrefix(got, want) {
		t.Error(got)
	}
}
