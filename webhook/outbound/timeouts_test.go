package outbound_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"bellhop/webhook/outbound"
)

// Receivers have the time that the documents promise them.
func TestTheLimitsAreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	limits := outbound.Timeouts()
	for file, want := range map[string]string{
		"reliability.md": fmt.Sprintf("first header %.0f s, whole exchange %.0f s", limits.Header.Seconds(),
			limits.Total.Seconds()),
		"notebooks.md": fmt.Sprintf("Begin to answer within %.0f s, and end within %.0f s", limits.Header.Seconds(),
			limits.Total.Seconds()),
	} {
		page, err := os.ReadFile("../../docs/" + file)
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("%s lacks %q: %v", file, want, err)
		}
	}
}
