//go:build full

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// scrape returns the series of GET /metrics by their name with labels.
func scrape(t *testing.T, url, credential string) map[string]float64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+credential)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s/metrics: %d %v: %s", url, resp.StatusCode, err, body)
	}
	series := map[string]float64{}
	for line := range strings.Lines(string(body)) {
		cut := strings.LastIndexByte(line, ' ')
		if cut < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(line[cut+1:]), 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		series[line[:cut]] = value
	}
	return series
}

func TestATurnShowsInTheMetrics(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	task, c := s.task("measured"), s.user()
	turnOf(t, c, task, "hello")
	settle(t, c, task)
	expectSeries(t, s.host.url, hostPassword, map[string]float64{
		`bellhop_turns_total{agent="demo",result="stop"}`:   1,
		`bellhop_turn_duration_seconds_count{agent="demo"}`: 1,

		`bellhop_turns_open`:                            0,
		`bellhop_sessions{status="idle"}`:               1,
		`bellhop_outbox_events`:                         0,
		`bellhop_outbox_oldest_seconds`:                 0,
		`bellhop_outbox_sessions{state="ok"}`:           1,
		`bellhop_dead_letters`:                          0,
		`bellhop_streams{kind="session"}`:               0,
		`bellhop_collect_errors_total{part="sessions"}`: 0,

		`bellhop_http_requests_total{method="POST",route="/session",status="200"}`: 1,
	})
	events := scrape(t, s.host.url, hostPassword)["bellhop_outbox_posted_events_total"]
	broker := expectSeries(t, s.broker.url, s.token, map[string]float64{
		`bellhop_checkins_total{result="ok"}`:                  1,
		`bellhop_host_calls_total{call="session",result="ok"}`: 1,
		`bellhop_ingest_events_total{outcome="accepted"}`:      events,
		`bellhop_hosts{health="ok"}`:                           1,
		`bellhop_webhook_deliveries{state="queued"}`:           0,
		`bellhop_webhook_oldest_seconds`:                       0,
		`bellhop_collect_errors_total{part="hosts"}`:           0,
		`go_sql_max_open_connections{db_name="writer"}`:        1,
	})
	lags, disk := broker["bellhop_event_lag_seconds_count"], broker["bellhop_disk_size_bytes"]
	if events == 0 || lags == 0 || disk == 0 {
		t.Errorf("events %v, lags %v, disk %v", events, lags, disk)
	}
}

// Events that no broker takes show their number and their age, on the host's admin listener too.
func TestAnOutboxThatWaitsShowsInTheMetrics(t *testing.T) {
	t.Parallel()
	s := prepareStack(t, sqlite)
	admin := freeAddr(t)
	s.host.env = append(s.host.env, "BELLHOP_HOST_ADMIN_LISTEN="+admin)
	s.host.start()
	s.broker.start(dieAt("ingest-before-commit", 1)) // with the first events of the turn
	task, c := s.task("measured"), s.user()
	toEnd(t, send(t, c, task, "hello"), nil)
	if !s.broker.dead(startLimit) {
		t.Fatal("the fail point was not met")
	}
	eventually(t, "the outbox shows depth, age and a failed post", func() bool {
		host := scrape(t, s.host.url, hostPassword)
		return host["bellhop_outbox_events"] > 0 && host["bellhop_outbox_oldest_seconds"] > 0 &&
			host[`bellhop_outbox_sessions{state="retrying"}`] == 1 &&
			host[`bellhop_outbox_posts_total{result="unreachable"}`] > 0
	})
	if shown := scrape(t, "http://"+admin, hostPassword); shown["bellhop_outbox_events"] == 0 {
		t.Errorf("the admin listener shows %v", shown)
	}
}

// expectSeries waits until a server shows the series, and returns all that it shows then. Some follow a
// turn with a delay: a health check, or the end of a request whose answer was read.
func expectSeries(t *testing.T, url, credential string, want map[string]float64) (shown map[string]float64) {
	t.Helper()
	var missing []string
	t.Cleanup(func() {
		if len(missing) > 0 {
			t.Logf("%s/metrics shows: %s", url, strings.Join(missing, "; "))
		}
	})
	eventually(t, "the metrics of "+url, func() bool {
		shown, missing = scrape(t, url, credential), nil
		for name, value := range want {
			if found, ok := shown[name]; !ok || found != value {
				missing = append(missing, fmt.Sprintf("%s is %v (%v), want %v", name, found, ok, value))
			}
		}
		return len(missing) == 0
	})
	return shown
}
