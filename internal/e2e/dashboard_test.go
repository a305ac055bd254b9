//go:build full

package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/internal/testenv"
)

const monitoring = "../../deploy/monitoring"

func TestAlertRulesFireWhenTheyShould(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), testenv.FindProgram(t, "promtool"), args...)
		cmd.Dir = monitoring
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// A real Prometheus with our configuration reads broker and host, evaluates every alert, and finds
// something for every panel of the dashboard after one turn.
func TestPrometheusFillsTheDashboard(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	p := startPrometheus(t, s)
	task, c := s.task("measured"), s.user()
	turnOf(t, c, task, "hello")
	settle(t, c, task)
	s.as(t, "bhp_unknown", http.MethodGet, "/api/tasks", nil, http.StatusUnauthorized, nil) // a refused request
	open := panels(t)
	if len(open) < 30 {
		t.Fatalf("%d queries of panels", len(open))
	}
	// No webhook is configured, so these have nothing to show.
	delete(open, "Attempts")
	delete(open, "Time from queueing to success")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("empty panels: %q", open)
		}
	})
	eventually(t, "every panel shows something", func() bool {
		for title, queries := range open {
			for len(queries) > 0 && p.found(queries[0]) > 0 {
				queries = queries[1:]
			}
			if open[title] = queries; len(queries) == 0 {
				delete(open, title)
			}
		}
		return len(open) == 0
	})
	p.expectHealthyRules()
}

// panels returns the queries of the dashboard by the titles of their panels.
func panels(t *testing.T) map[string][]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(monitoring, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(content, &dashboard); err != nil {
		t.Fatal(err)
	}
	chosen := strings.NewReplacer("$instance", ".*", "$__rate_interval", "1m") // as Grafana replaces them
	queries := map[string][]string{}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries[panel.Title] = append(queries[panel.Title], chosen.Replace(target.Expr))
		}
	}
	return queries
}

type prometheus struct {
	t   *testing.T
	api string
}

// startPrometheus runs it with deploy/monitoring/prometheus.yml: only addresses, files of credentials
// and intervals are replaced.
func startPrometheus(t *testing.T, s *stack) *prometheus {
	t.Helper()
	folder, addr := t.TempDir(), freeAddr(t)
	content, err := os.ReadFile(filepath.Join(monitoring, "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs(filepath.Join(monitoring, "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	configuration := string(content)
	for old, replacement := range map[string]string{
		"/etc/prometheus/bellhop-broker.token":                 writeFile(t, folder, "token", s.token),
		"/etc/prometheus/bellhop-host.password":                writeFile(t, folder, "password", hostPassword),
		"broker.example.com:7700":                              strings.TrimPrefix(s.broker.url, "http://"),
		"agents-1.example.com:7701, agents-2.example.com:7701": strings.TrimPrefix(s.host.url, "http://"),
		"- alerts.yml":             "- " + rules,
		"scrape_interval: 15s":     "scrape_interval: 1s",
		"evaluation_interval: 15s": "evaluation_interval: 1s",
	} {
		if !strings.Contains(configuration, old) {
			t.Fatalf("prometheus.yml lacks %q", old)
		}
		configuration = strings.ReplaceAll(configuration, old, replacement)
	}
	file := writeFile(t, folder, "prometheus.yml", configuration)
	testenv.Program{
		Name: "prometheus", Addr: addr,
		Args: []string{
			"--config.file=" + file, "--storage.tsdb.path=" + folder + "/data",
			"--web.listen-address=" + addr, "--log.level=warn",
		},
	}.Run(t)
	p := &prometheus{t: t, api: "http://" + addr + "/api/v1"}
	eventually(t, "Prometheus reads broker and host", func() bool { return p.found(`up == 1`) == 2 })
	return p
}

// found returns how many series a query has now.
func (p *prometheus) found(query string) int {
	p.t.Helper()
	var body struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	p.get("/query?query="+url.QueryEscape(query), &body)
	if body.Status != "success" && body.Error != "" {
		p.t.Fatalf("%s: %s", query, body.Error)
	}
	return len(body.Data.Result)
}

// expectHealthyRules waits until every rule was evaluated without an error and no alert is active, but that of a disk
// that is in fact almost full. On a busy machine a scrape takes longer than its second now and then, so an alert may be
// pending meanwhile.
func (p *prometheus) expectHealthyRules() {
	p.t.Helper()
	var wrong []string
	p.t.Cleanup(func() {
		if len(wrong) > 0 {
			p.t.Logf("rules: %q", wrong)
		}
	})
	eventually(p.t, "every rule is healthy and inactive", func() bool {
		var body struct {
			Data struct {
				Groups []struct {
					Rules []struct{ Name, Health, LastError, State string }
				}
			}
		}
		p.get("/rules", &body)
		wrong = nil
		for _, group := range body.Data.Groups {
			for _, rule := range group.Rules {
				isRight := rule.State == "inactive" || rule.Name == "BellhopDiskAlmostFull" && p.found(diskAlmostFull) > 0
				if rule.Health != "ok" || !isRight {
					wrong = append(wrong, rule.Name+" is "+rule.Health+" and "+rule.State+": "+rule.LastError)
				}
			}
		}
		return len(body.Data.Groups) > 0 && len(wrong) == 0
	})
}

// diskAlmostFull is the condition of that alert, which the machine of a test can meet.
const diskAlmostFull = "bellhop_disk_free_bytes < 0.1 * bellhop_disk_size_bytes"

// get reads an answer. Prometheus refuses queries while it starts: body is empty then.
func (p *prometheus) get(path string, body any) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.api+path, http.NoBody)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusServiceUnavailable {
		return
	}
	if err := json.NewDecoder(resp.Body).Decode(body); err != nil {
		p.t.Fatalf("%s: %v", path, err)
	}
}
