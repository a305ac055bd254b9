package sizing

import (
	"errors"
	"strings"
	"testing"

	"bellhop/protocol"
)

// ingestOnly is what "bellhop bench --run ingest" prints, with figures of another machine.
const ingestOnly = `2026-11-26 · commit 03612495 · 64 cores, AMD EPYC, 256 GiB · go1.26.8 · PostgreSQL 15.18 · Linux 6.18

### Webhook ingest (PostgreSQL)

| what | figure | beside | ratio (least–most) | bounded by |
|---|---|---|---|---|
| webhook, one event a request, 32 clients, 1024 tasks | 5428 events/s | – | – | CPU: per event broker 71.5 µs, PostgreSQL 60 µs, load generator 20 µs (pgbench: PostgreSQL 73.4 µs a row); an fsync takes 1.2 ms |
| webhook, 100 events a request, 32 clients | 32726 events/s | – | – | CPU: per event broker 10 µs, PostgreSQL 9 µs, load generator 2 µs |
`

func TestFiguresOfOneTableReplaceThePublishedOnes(t *testing.T) {
	own, err := ReadFigures("own.md", ingestOnly)
	if err != nil {
		t.Fatal(err)
	}
	published, err := Published()
	if err != nil {
		t.Fatal(err)
	}
	got := published.Replace(own)
	for name, want := range map[string]float64{
		"broker.event": 71.5e-6, "postgres.event": 60e-6, "postgres.fsync": 1.2e-3, "broker.batched-event": 10e-6,
		"delivery.broker": published.Values["delivery.broker"], "machine.cores": 2,
	} {
		near(t, name, got.Values[name], want, 1e-9)
	}
	if from := got.From["broker.event"] + ", " + got.From["delivery.broker"]; from != "own.md, docs/benchmarks.md" {
		t.Errorf("figures are from %s", from)
	}
	if published.Values["broker.event"] == got.Values["broker.event"] {
		t.Error("the published figures were changed")
	}
}

func TestFilesWithoutTheirFiguresAreRefused(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"an empty file", "", "own.md has no figures that the simulation uses"},
		{"another document", "# Notes\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", "own.md has no figures"},
		{
			"an unknown table", strings.Replace(ingestOnly, "Webhook ingest (PostgreSQL)", "Luck", 1),
			`own.md: the figures "Luck" are unknown`,
		},
		{
			"a row that is missing", strings.Replace(ingestOnly, "| webhook, 100 events", "| webhook, 7 events", 1),
			`own.md: the table "Webhook ingest (PostgreSQL)" has no figure broker.batched-event`,
		},
		{
			"a value without a unit", strings.Replace(ingestOnly, "broker 71.5 µs", "broker 71.5", 1),
			`own.md: the table "Webhook ingest (PostgreSQL)" has no figure broker.event`,
		},
		{
			"a cost of nothing", strings.Replace(ingestOnly, "broker 71.5 µs", "broker 0 µs", 1),
			`own.md: the figure broker.event is "0 µs", which no machine has`,
		},
		{
			"an absurd cost", strings.Replace(ingestOnly, "broker 71.5 µs", "broker 71500000 s", 1),
			`own.md: the figure broker.event is "71500000 s", which no machine has`,
		},
		{
			"a value that is no number", strings.Replace(ingestOnly, "broker 71.5 µs", "broker 7.1.5 µs", 1),
			`own.md: the figure broker.event is "7.1.5 µs", which is no value`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadFigures("own.md", c.content)
			var e *protocol.Error
			if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

// A file that is no output of the benchmark is refused, and never ends the process.
func FuzzFigures(f *testing.F) {
	f.Add(ingestOnly)
	f.Add("### Check-in\n" + benchHeader + "\n| |\n")
	f.Add(beginMarker + endMarker)
	f.Fuzz(func(t *testing.T, content string) {
		figures, err := ReadFigures("fuzz", content)
		if err != nil {
			return
		}
		if len(figures.Values) == 0 {
			t.Error("no figure, and no error")
		}
		for name, value := range figures.Values {
			if !(value > 0) {
				t.Errorf("%s is %v", name, value)
			}
		}
	})
}
