//go:build linux

package torture

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"bellhop/internal/torture/check"
)

// Report is the state of a run: it is written after every round, and a run continues from it.
type Report struct {
	Version string  `json:"version"`
	Other   string  `json:"other,omitempty"` // the other binary's version
	Machine string  `json:"machine"`
	Seed    uint64  `json:"seed"`
	Planned int     `json:"planned"` // rounds
	Profile Profile `json:"profile"`
	Rounds  []Round `json:"rounds"`

	SelfTest *check.SelfTest `json:"selfTest,omitempty"` // of the first round that had no violation
}

// Round is the outcome of one round.
type Round struct {
	Number     int               `json:"number"` // from 1
	Seed       uint64            `json:"seed"`
	Mix        string            `json:"mix"`
	Started    time.Time         `json:"started"`
	Seconds    float64           `json:"seconds"`
	Faults     map[string]int    `json:"faults"`
	Turns      int               `json:"turns"`
	Events     int               `json:"events"`
	Receipts   int               `json:"receipts"`
	LookedUp   int               `json:"lookedUp"` // receipts whose events were looked up when they were given
	Violations []check.Violation `json:"violations"`
	Error      string            `json:"error,omitempty"` // why the round could not be finished
	Skipped    []string          `json:"skipped,omitempty"`
}

// OK reports whether nothing was lost, doubled, reordered or wrongly confirmed, in every round
// that ran, and whether the self-test found all its mutations.
func (r *Report) OK() bool {
	for _, round := range r.Rounds {
		if len(round.Violations) > 0 || round.Error != "" {
			return false
		}
	}
	return len(r.Rounds) > 0 && (r.SelfTest == nil || len(r.SelfTest.Missed) == 0)
}

// readReport returns nil without an error if there is no report yet.
func readReport(path string) (*Report, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no report is no error
	}
	if err != nil {
		return nil, err
	}
	var r Report
	if err := json.Unmarshal(content, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &r, nil
}

// write stores the report as JSON at path and as Markdown beside it.
func (r *Report) write(path string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", append(content, '\n'), 0o600); err != nil {
		return err
	}
	markdown := strings.TrimSuffix(path, ".json") + ".md"
	return errors.Join(os.Rename(path+".new", path), os.WriteFile(markdown, []byte(r.Markdown()), 0o600))
}

// total is the sum of all rounds.
func (r *Report) total() (sum Round) {
	sum.Faults = map[string]int{}
	for _, round := range r.Rounds {
		sum.Seconds += round.Seconds
		sum.Turns += round.Turns
		sum.Events += round.Events
		sum.Receipts += round.Receipts
		sum.LookedUp += round.LookedUp
		sum.Violations = append(sum.Violations, round.Violations...)
		for kind, n := range round.Faults {
			sum.Faults[kind] += n
		}
		for _, skipped := range round.Skipped {
			if !slices.Contains(sum.Skipped, skipped) {
				sum.Skipped = append(sum.Skipped, skipped)
			}
		}
	}
	return sum
}

// Markdown is the report for people.
func (r *Report) Markdown() string {
	var b strings.Builder
	sum := r.total()
	started := time.Time{}
	if len(r.Rounds) > 0 {
		started = r.Rounds[0].Started
	}
	row := func(what string, value any) { _, _ = fmt.Fprintf(&b, "| %s | %v |\n", what, value) }
	_, _ = fmt.Fprintf(&b, "| run of %s | |\n|---|---|\n", started.UTC().Format(time.DateOnly))
	row("version", r.Version)
	if r.Other != "" {
		row("other version", r.Other)
	}
	row("machine", r.Machine)
	row("seed", r.Seed)
	row("rounds", fmt.Sprintf("%d of %d, %s", len(r.Rounds), r.Planned, (time.Duration(sum.Seconds)*time.Second).String()))
	row("turns", sum.Turns)
	row("events stored", sum.Events)
	row("receipts checked", fmt.Sprintf("%d, %d of them in the database before the host had them", sum.Receipts, sum.LookedUp))
	row("**violations**", fmt.Sprintf("**%d**", len(sum.Violations)))
	if r.SelfTest != nil {
		row("self-test",
			fmt.Sprintf("%d of %d mutations of %d kinds were caught", r.SelfTest.Caught, r.SelfTest.Tried, r.SelfTest.Kinds))
	}
	for _, skipped := range sum.Skipped {
		row("left out", skipped)
	}
	b.WriteString("\n| fault | times |\n|---|---|\n")
	for _, kind := range slices.Sorted(maps.Keys(sum.Faults)) {
		row(kind, sum.Faults[kind])
	}
	r.failures(&b)
	return b.String()
}

const shownViolations = 20

func (r *Report) failures(b *strings.Builder) {
	for _, round := range r.Rounds {
		if round.Error == "" && len(round.Violations) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(b, "\nRound %d (seed %d, %s): %d violations. %s\n\n", round.Number, round.Seed, round.Mix,
			len(round.Violations), round.Error)
		for _, v := range round.Violations[:min(shownViolations, len(round.Violations))] {
			_, _ = fmt.Fprintf(b, "- %s\n", v)
		}
	}
	if r.SelfTest != nil {
		for _, missed := range r.SelfTest.Missed {
			_, _ = fmt.Fprintf(b, "\nThe checker missed a mutation: %s\n", missed)
		}
	}
}
