package main

import (
	"strings"
	"testing"
)

// In a request, 0 seconds stand for the default of a day.
func TestAnAnnouncementOfLessThanASecondIsRefused(t *testing.T) {
	for _, given := range []string{"0s", "999ms", "-1h"} {
		code, _, stderr := runCommand(t, "announce", "--url", "http://127.0.0.1:1", "--token-file", writeSecret(t, "bhp_x"),
			"--for="+given, "Soon")
		if code != 1 || !strings.Contains(stderr, "--for is shorter than 10s") {
			t.Errorf("--for=%s: exit %d: %s", given, code, stderr)
		}
	}
}
