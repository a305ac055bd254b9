package sizing

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write figures.json, and the tables and examples of docs/sizing.md")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const benchmarks = "../../docs/benchmarks.md"

// The figures in the binary are those of docs/benchmarks.md. After "make bench", -update writes them.
func TestThePublishedFiguresAreThoseOfTheBenchmarks(t *testing.T) {
	content := read(t, benchmarks)
	tables, err := readTables(benchmarks, content)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, f := range figures {
		if texts[f.name] = f.in(tables[f.section]); texts[f.name] == "" {
			t.Errorf("%s has no figure %s", benchmarks, f.name)
		}
	}
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(texts); err != nil {
		t.Fatal(err)
	}
	if *update {
		write(t, "figures.json", want.String())
	} else if got := read(t, "figures.json"); got != want.String() {
		t.Errorf("figures.json differs from %s: go test ./internal/sizing -update", benchmarks)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	page       = "../../docs/sizing.md"
	beginCosts = "<!-- figures: written by go test ./internal/sizing -update -->\n"
	endCosts   = "<!-- end of the costs -->"
)

// The costs of docs/sizing.md are those that the model uses.
func TestThePageShowsTheCostsOfTheModel(t *testing.T) {
	content := read(t, page)
	before, rest, begins := strings.Cut(content, beginCosts)
	_, after, ends := strings.Cut(rest, endCosts)
	if !begins || !ends {
		t.Fatalf("%s has no markers for the costs", page)
	}
	want := before + beginCosts + costsTable(t) + endCosts + after
	if *update {
		write(t, page, want)
	} else if content != want {
		t.Errorf("%s shows other costs: go test ./internal/sizing -update", page)
	}
}

func costsTable(t *testing.T) string {
	t.Helper()
	figures, err := Published()
	if err != nil {
		t.Fatal(err)
	}
	one, err := figures.costs(1)
	if err != nil {
		t.Fatal(err)
	}
	hundred, err := figures.costs(100)
	if err != nil {
		t.Fatal(err)
	}
	v := figures.Values
	var b strings.Builder
	b.WriteString("| what | broker CPU | PostgreSQL CPU | host CPU | beside |\n|---|---|---|---|---|\n")
	row := func(cells ...string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	c, r, d := one.checkIn, one.request, one.delivery
	row("a check-in", seconds(c.broker), seconds(c.database), seconds(c.host), "2 commits")
	row("an event, alone in a request", seconds(r.broker), seconds(r.database), seconds(r.host),
		"1 commit; a flush takes "+seconds(one.fsync))
	row("an event, one of 100 in a request", seconds(hundred.request.broker/100), seconds(hundred.request.database/100),
		seconds(hundred.request.host/100), "a hundredth of a commit")
	row("a delivery", seconds(d.broker), seconds(d.database), "–", "1 commit, 1 of a replica's 128 outbound requests")
	row("a part to one reader", "–", "–", seconds(one.part), "its bytes on the host's network")
	row("a reader of a stream", "–", "–", "–", number(v["stream.memory"]/1024)+" KiB of the host's memory")
	row("a session that is kept", "–", "–", "–", number(v["session.memory"]/1024)+" KiB of the host's memory")
	for _, agent := range Agents() {
		row("the programs of a working session, `--agent "+agent+"`", "–", "–", "–",
			number(v["agent.memory."+agent]/(1<<20))+" MiB of the host's memory")
	}
	return b.String()
}
