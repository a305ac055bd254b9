package e2e

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The fail points that the crash test kills at, by process.
var (
	hostPoints = []string{
		"after-journal-append", "before-announce", "finish-journaled", "offset-block-reserved",
		"outbox-after-post", "outbox-before-post", "turn-started",
	}
	brokerPoints = []string{
		"checkin-opened", "checkin-stored", "ingest-after-commit", "ingest-before-commit", "reconcile-pulled",
	}
	// queuePoints are the fail points of queued messages.
	queuePoints = []string{"queue-claimed", "queue-marked", "queue-prompted"}
	// rotatePoints are those of "bellhop keys rotate".
	rotatePoints = []string{"reseal-page"}
	// deliveryPoints are the fail points of outbound webhooks, with the number of requests that
	// the receiver gets when the broker dies there once.
	deliveryPoints = map[string]int{"before-webhook-sent": 1, "after-webhook-sent": 2}
)

var hit = regexp.MustCompile(`failpoint\.Hit\("([^"]+)"\)`)

func TestCrashPointsAreThoseOfTheSource(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, match := range hit.FindAllSubmatch(source, -1) {
			found[string(match[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	known := slices.Sorted(slices.Values(slices.Concat(hostPoints, brokerPoints, queuePoints, rotatePoints,
		slices.Collect(maps.Keys(deliveryPoints)))))
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, known) {
		t.Errorf("the source has the fail points %q, the crash test kills at %q", got, known)
	}
}
