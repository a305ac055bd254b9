package bench

import (
	"bytes"
	"context"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/internal/testenv/testlist"
)

// The test binary also plays the roles of the benchmarks that it runs.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == command && os.Args[2] == roleWord {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err := PlayRole(ctx, os.Args[3], os.Stdin, os.Stdout)
		stop()
		if err != nil {
			log.Fatal(err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func TestEveryScenarioRuns(t *testing.T) {
	usual, err := choose(nil)
	if err != nil {
		t.Fatal(err)
	}
	const reference = "reference"
	if _, err := os.Stat(filepath.Join(reference, "node_modules")); err != nil {
		t.Fatalf("the Node broker's packages are missing: run make reference: %v", err)
	}
	for _, s := range testlist.OrEvery(3, usual) {
		t.Run(s.name, func(t *testing.T) {
			rows, err := (&settings{scale: smoke, reference: reference, log: t.Logf}).run(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if len(rows) == 0 {
				t.Fatal("no row")
			}
			for _, r := range rows {
				if r.what == "" || r.figure == "" || r.bound == "" {
					t.Errorf("the row does not say what, how much and why: %+v", r)
				}
			}
		})
	}
}

func TestTablesReplaceTheirOwnBetweenTheMarkers(t *testing.T) {
	const head = "| what | figure | beside | ratio (least–most) | bounded by |\n|---|---|---|---|---|\n"
	streams := "### Streams\n\nan older machine\n\n" + head + "| s | t | – | – | u |"
	path := filepath.Join(t.TempDir(), "benchmarks.md")
	old := "# Benchmarks\n\n" + beginMarker + "\nold\n\n### Check-in\n\nold too\n\n### Of no figure\n\nx\n\n" + streams +
		"\n\n" + endMarker + "\n\nThe end.\n"
	if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	tables := map[string][]row{
		"idle":    {{what: "new", figure: "f", bound: "g"}},
		"checkin": {{what: "a", figure: "b", bound: "c"}},
	}
	for range 2 { // writing twice yields one table
		if err := writeTables(t.Context(), path, tables); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	taken := circumstances(t.Context())
	if !strings.Contains(taken, "PostgreSQL") || !strings.Contains(taken, "commit") {
		t.Errorf("the circumstances are %q", taken)
	}
	want := "# Benchmarks\n\n" + beginMarker + "\n\n### Check-in\n\n" + taken + "\n\n" + head +
		"| a | b | – | – | c |\n\n" + streams +
		"\n\n### Idle sessions\n\n" + taken + "\n\n" + head + "| new | f | – | – | g |\n\n" + endMarker + "\n\nThe end.\n"
	if got := string(content); got != want {
		t.Errorf("the file holds\n%s\nwant\n%s", got, want)
	}
}

func TestAFileWithoutMarkersIsNotChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "benchmarks.md")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeTables(t.Context(), path, nil); err == nil {
		t.Error("no error")
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "mine" {
		t.Errorf("it holds %q, %v", content, err)
	}
}

func TestASpreadHasTheRanksOfItsSamples(t *testing.T) {
	var list samples
	for i := 1000; i > 0; i-- {
		list.add(time.Duration(i) * time.Millisecond)
	}
	want := spread{Count: 1000, P50: 500 * time.Millisecond, P99: 990 * time.Millisecond, Max: time.Second}
	if got := list.spread(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	var none samples
	if got := none.spread(); got != (spread{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestUnknownNamesAreRefused(t *testing.T) {
	err := Run(t.Context(), Options{Figures: []string{"ingest", "speed"}})
	const want = `there is no figure "speed"; there are: ingest, checkin, stream, latency, idle, headless, policy, ` +
		`deliveries, agents`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestARunPrintsItsTableAndTheMachine(t *testing.T) {
	var out, progress bytes.Buffer
	opts := Options{Figures: []string{"policy"}, Rounds: 1, Out: &out, Log: &progress}
	if err := Run(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, " cores, ") || !strings.Contains(got, "\n### Policy\n\n| what |") {
		t.Errorf("printed %q", got)
	}
	if !strings.HasPrefix(progress.String(), "policy …\n") {
		t.Errorf("the progress is %q", progress.String())
	}
}

// smoke runs every path once, for the tests.
var smoke = scale{
	rounds: 1, round: 150 * time.Millisecond,
	clients: 2, tasks: 8, batch: 10,
	checkIns: 4, callers: 2,
	sessions: 2, readers: 4, stalled: 1, backlog: 64 << 10,
	busy: 2, idle: 5,
	endpoints: 4, queued: 50, hanging: 8, ahead: 10 * time.Millisecond,
	pieces: 10, workspaces: 3, servers: 1,
	every: 10 * time.Millisecond,
}
