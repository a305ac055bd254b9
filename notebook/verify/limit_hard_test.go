//go:build linux && !race

package verify

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"bellhop/protocol"
)

// Each kind of preparation ends under the same limit.
func TestAWorkerReadsCodeUnderItsMemoryLimit(t *testing.T) {
	t.Parallel()
	const want = 256 << 20
	v := newWorker(t, os.Args[0], "verify-worker")
	for language, code := range map[string]string{"toml": "a = 1\n", "lua": "local a = 1\n", "go": "package a\n"} {
		if got := v.Verify(t.Context(), language, code); got.Verdict != protocol.Verified {
			t.Fatalf("%+v", got)
		}
		limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", v.pool.idle[0].cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		if ok, _ := regexp.Match(fmt.Sprintf(`(?m)^Max data size +%d +%d +bytes`, want, want), limits); !ok {
			t.Errorf("%s: %s", language, limits)
		}
	}
}
