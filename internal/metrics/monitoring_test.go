package metrics

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	inQuery = regexp.MustCompile(`\b((?:bellhop|go|process)_[a-z_]+)(?:\{([^}]*)\})?`)
	matcher = regexp.MustCompile(`([a-z_]+)\s*=~?\s*\\?"`)
	part    = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// A rule or panel with a wrong name would be silent, not wrong.
func TestRulesAndDashboardNameExistingMetrics(t *testing.T) {
	t.Parallel()
	known := map[string][]string{
		"process_start_time_seconds": nil, "process_resident_memory_bytes": nil,
		"process_cpu_seconds_total": nil, "go_goroutines": nil,
	}
	for _, f := range New(Options{}).families.all {
		known[f.Name] = f.Labels
	}
	for _, file := range []string{"alerts.yml", "dashboard.json"} {
		content, err := os.ReadFile(filepath.Join("../../deploy/monitoring", file))
		if err != nil {
			t.Fatal(err)
		}
		found := inQuery.FindAllStringSubmatch(string(content), -1)
		if len(found) < 10 {
			t.Errorf("%s: %d metrics found", file, len(found))
		}
		for _, use := range found {
			labels, ok := known[use[1]]
			if !ok {
				labels, ok = known[part.ReplaceAllString(use[1], "")]
			}
			if !ok {
				t.Errorf("%s names the metric %s", file, use[1])
			}
			for _, m := range matcher.FindAllStringSubmatch(use[2], -1) {
				if !slices.Contains(append([]string{"job", "instance"}, labels...), m[1]) {
					t.Errorf("%s: %s has no label %s", file, use[1], m[1])
				}
			}
		}
	}
}

// The page explains each alert, and promtool's tests have it fire.
func TestEveryAlertIsExplainedAndTested(t *testing.T) {
	t.Parallel()
	read := func(file string) string {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	rules, tests, explained := read("../../deploy/monitoring/alerts.yml"),
		read("../../deploy/monitoring/alerts_test.yml"), read(page)
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(rules, -1)
	if len(alerts) == 0 {
		t.Fatal("no alerts")
	}
	for _, alert := range alerts {
		if !regexp.MustCompile(`alertname: ` + alert[1] +
			`\n\s+eval_time: \w+\n\s+exp_alerts:\n\s+- exp_labels`).MatchString(tests) {
			t.Errorf("no test has %s fire", alert[1])
		}
		if !strings.Contains(explained, "| `"+alert[1]+"` |") {
			t.Errorf("%s does not explain %s", page, alert[1])
		}
	}
}
