package metrics

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

var update = flag.Bool("update", false, "write the tables of docs/metrics.md")

const page = "../../docs/metrics.md"

// The tables of the page are between these marks.
var table = regexp.MustCompile(`(?s)(<!-- metrics of (both|the broker|the host) -->\n)(.*?)(<!-- end -->)`)

func rowsOf(families []Family) string {
	rows := []string{"| metric | kind | labels | meaning |", "|---|---|---|---|"}
	for _, f := range families {
		rows = append(rows, f.Row())
	}
	return "\n" + strings.Join(rows, "\n") + "\n\n"
}

func TestThePageListsEveryMetric(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	declared := New(Options{}).families
	tables := map[string][]Family{
		"both": declared.of(roleBoth), "the broker": declared.of(RoleBroker), "the host": declared.of(RoleHost),
	}
	var found []string
	want := table.ReplaceAllStringFunc(string(content), func(old string) string {
		parts := table.FindStringSubmatch(old)
		found = append(found, parts[2])
		return parts[1] + rowsOf(tables[parts[2]]) + parts[4]
	})
	if len(found) != len(tables) {
		t.Fatalf("%s has the tables %v", page, found)
	}
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(content) {
		t.Errorf("%s is out of date: run go test ./internal/metrics -update", page)
	}
}

var (
	described = regexp.MustCompile(`^Desc\{fqName: "([^"]+)"`)
	standard  = regexp.MustCompile(`^(go_|process_)`)
	ofPools   = regexp.MustCompile(`^go_sql_`)
)

// registered returns the names of what a registry holds, without those of the runtime.
func registered(t *testing.T, m *Metrics) []string {
	t.Helper()
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		m.registry.Describe(descriptions)
	}()
	var names []string
	for d := range descriptions {
		name := described.FindStringSubmatch(d.String())[1]
		if !standard.MatchString(name) || ofPools.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestEveryListedMetricIsRegisteredAndNoOther(t *testing.T) {
	t.Parallel()
	for _, role := range []string{RoleBroker, RoleHost} {
		o := Options{Role: role, Version: "v1"}
		if role == RoleBroker {
			o.Collectors = append(o.Collectors, collectors.NewDBStatsCollector(nil, "writer"))
		}
		var want []string
		m := New(o)
		for _, f := range slices.Concat(m.families.of(roleBoth), m.families.of(role)) {
			want = append(want, f.Name)
		}
		slices.Sort(want)
		if got := registered(t, m); !slices.Equal(got, want) {
			t.Errorf("%s registers\n%s\nlisted are\n%s", role, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
