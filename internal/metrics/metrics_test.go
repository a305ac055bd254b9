package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/internal/observe"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shown returns what GET /metrics answers.
func shown(t *testing.T, m *Metrics) string {
	t.Helper()
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	if rec.Code != 200 {
		t.Fatalf("%d: %s", rec.Code, rec.Body)
	}
	return rec.Body.String()
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			name, _, _ := strings.Cut(line, "{")
			var similar []string
			for one := range strings.Lines(text) {
				if strings.HasPrefix(one, name) {
					similar = append(similar, one)
				}
			}
			t.Errorf("%s is missing among\n%s", line, strings.Join(similar, ""))
		}
	}
}

// done observes an operation from its begin to its end.
func done(m *Metrics, start observe.Start, out observe.Outcome) {
	_, operation := observe.Begin(context.Background(), m, start)
	operation.End(out)
}

func TestABrokersOperationsAreCounted(t *testing.T) {
	t.Parallel()
	m := New(Options{Role: RoleBroker, Version: "v1", Streams: map[string]string{"/stream": "relay"}})
	refused := protocol.Errorf(protocol.CodeNotFound, "no")
	done(m, observe.Start{Operation: observe.Request, Name: "/api/agent", Method: "POST"}, observe.Outcome{Status: 200})
	done(m, observe.Start{Operation: observe.Request, Name: "/api/agent", Method: "POST"},
		observe.Outcome{Status: 404, Err: refused})
	done(m, observe.Start{Operation: observe.CheckIn}, observe.Outcome{})
	done(m, observe.Start{Operation: observe.CheckIn}, observe.Outcome{Err: errors.New("bug")})
	done(m, observe.Start{Operation: observe.Ingest}, observe.Outcome{Accepted: 3, Duplicates: 2, Lag: time.Second})
	done(m, observe.Start{Operation: observe.Ingest}, observe.Outcome{Err: refused})
	done(m, observe.Start{Operation: observe.Call, Name: "session"}, observe.Outcome{})
	done(m, observe.Start{Operation: observe.Attempt, Name: "task"}, observe.Outcome{
		Result: observe.ResultDelivered, Lag: time.Minute,
	})
	_, stream := observe.Begin(t.Context(), m, observe.Start{Operation: observe.Request, Name: "/stream", Method: "GET"})
	wantLines(t, shown(t, m),
		`bellhop_build_info{version="v1"} 1`,
		`bellhop_http_requests_total{method="POST",route="/api/agent",status="200"} 1`,
		`bellhop_http_requests_total{method="POST",route="/api/agent",status="404"} 1`,
		`bellhop_http_request_duration_seconds_count{route="/api/agent"} 2`,
		`bellhop_rejections_total{reason="not_found"} 1`,
		`bellhop_checkins_total{result="ok"} 1`,
		`bellhop_checkins_total{result="internal"} 1`,
		`bellhop_checkin_duration_seconds_count 2`,
		`bellhop_ingest_total{result="ok"} 1`,
		`bellhop_ingest_total{result="not_found"} 1`,
		`bellhop_ingest_events_total{outcome="accepted"} 3`,
		`bellhop_ingest_events_total{outcome="duplicate"} 2`,
		`bellhop_event_lag_seconds_sum 1`,
		`bellhop_host_calls_total{call="session",result="ok"} 1`,
		`bellhop_webhook_attempts_total{kind="task",result="delivered"} 1`,
		`bellhop_webhook_lag_seconds_sum{kind="task"} 60`,
		`bellhop_streams{kind="relay"} 1`,
	)
	stream.End(observe.Outcome{Status: 200})
	text := shown(t, m)
	wantLines(t, text, `bellhop_streams{kind="relay"} 0`,
		`bellhop_http_requests_total{method="GET",route="/stream",status="200"} 1`)
	if strings.Contains(text, `duration_seconds_count{route="/stream"}`) {
		t.Error("the duration of a stream was measured as that of a request")
	}
}

func TestAHostsOperationsAreCounted(t *testing.T) {
	t.Parallel()
	m := New(Options{Role: RoleHost})
	done(m, observe.Start{Operation: observe.Turn, Name: "demo"}, observe.Outcome{Result: "stop"})
	done(m, observe.Start{Operation: observe.Turn, Name: "demo"}, observe.Outcome{Result: "the agent's own word"})
	done(m, observe.Start{Operation: observe.Post}, observe.Outcome{Accepted: 4})
	done(m, observe.Start{Operation: observe.Post}, observe.Outcome{Result: observe.ResultUnreachable})
	wantLines(t, shown(t, m),
		`bellhop_turns_total{agent="demo",result="stop"} 1`,
		`bellhop_turns_total{agent="demo",result="other"} 1`,
		`bellhop_turn_duration_seconds_count{agent="demo"} 2`,
		`bellhop_outbox_posts_total{result="ok"} 1`,
		`bellhop_outbox_posts_total{result="unreachable"} 1`,
		`bellhop_outbox_posted_events_total 4`,
		`bellhop_outbox_post_duration_seconds_count 2`,
	)
}

func TestHostileValuesMakeNoSeries(t *testing.T) {
	t.Parallel()
	m := New(Options{Role: RoleHost})
	for i := range 5000 {
		hostile := fmt.Sprintf("x\"} 1\nevil_metric{a=\"%d", i)
		done(m, observe.Start{Operation: observe.Request, Name: hostile, Method: hostile}, observe.Outcome{Status: 404})
		done(m, observe.Start{Operation: observe.Turn, Name: hostile}, observe.Outcome{Result: hostile})
	}
	done(m, observe.Start{Operation: observe.Turn, Name: "\xff\xfe"}, observe.Outcome{Result: "\xff"})
	done(m, observe.Start{Operation: observe.Turn, Name: strings.Repeat("n", 1000)}, observe.Outcome{})
	all, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range all {
		if n := len(family.GetMetric()); n > maxRoutes+1 {
			t.Errorf("%s has %d series", family.GetName(), n)
		}
	}
	for line := range strings.Lines(shown(t, m)) {
		if strings.HasPrefix(line, "evil_metric") {
			t.Fatalf("a value has become a metric: %s", line)
		}
	}
}

func TestAnImplausibleLagIsLeftOut(t *testing.T) {
	t.Parallel()
	m := New(Options{Role: RoleBroker})
	for _, lag := range []time.Duration{-time.Hour, 0, 1 << 62, 2 * time.Second} {
		done(m, observe.Start{Operation: observe.Ingest}, observe.Outcome{Accepted: 1, Lag: lag})
	}
	wantLines(t, shown(t, m), `bellhop_event_lag_seconds_count 1`, `bellhop_event_lag_seconds_sum 2`)
}

func TestAPartThatCannotBeReadIsLeftOut(t *testing.T) {
	t.Parallel()
	m := New(Options{Role: RoleHost, Source: Source{
		{Name: "outbox", Read: func(_ context.Context, set Set) error {
			set("bellhop_outbox_events", 7)
			return errors.New("no answer")
		}},
		{Name: "sessions", Read: func(_ context.Context, set Set) error {
			set("bellhop_turns_open", 2)
			return nil
		}},
	}})
	text := shown(t, m)
	wantLines(t, text, `bellhop_turns_open 2`, `bellhop_collect_errors_total{part="outbox"} 1`,
		`bellhop_collect_errors_total{part="sessions"} 0`)
	if strings.Contains(text, "\nbellhop_outbox_events ") {
		t.Error("half of a part is shown")
	}
}

func TestTextsOfAgentsAreOneSeries(t *testing.T) {
	t.Parallel()
	m := New(Options{Role: RoleHost})
	for i := range 100 {
		done(m, observe.Start{Operation: observe.Turn, Name: "demo"}, observe.Outcome{Result: fmt.Sprint("reason ", i)})
	}
	wantLines(t, shown(t, m), `bellhop_turns_total{agent="demo",result="other"} 100`)
}
