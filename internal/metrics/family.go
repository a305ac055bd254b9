package metrics

import (
	"fmt"
	"strings"
)

// Family is a metric of the page docs/metrics.md, which lists the same.
type Family struct {
	Name   string
	Kind   string // counter, gauge or histogram
	Labels []string
	Help   string
}

// Roles of a process.
const (
	RoleBroker = "broker"
	RoleHost   = "host"
)

// ofBoth, ofBroker and ofHost are all metrics of Bellhop.
var (
	ofBoth = []Family{
		{"bellhop_build_info", "gauge", []string{"version"}, "1, with the version of the program"},
		{"bellhop_http_requests_total", "counter", []string{"method", "route", "status"}, "requests that ended"},
		{
			"bellhop_http_request_duration_seconds", "histogram",
			[]string{"route"},
			"how long requests took; streams are left out",
		},
		{"bellhop_rejections_total", "counter", []string{"reason"}, "requests that ended with an error, by the error's code"},
		{"bellhop_streams", "gauge", []string{"kind"}, "streams and WebSocket connections that are open"},
		{"bellhop_disk_free_bytes", "gauge", nil, "free space on the disk of the data (of a broker: with SQLite only)"},
		{"bellhop_disk_size_bytes", "gauge", nil, "size of that disk"},
		{
			"bellhop_collect_errors_total", "counter",
			[]string{"part"},
			"times that a part of the metrics could not be read and was left out",
		},
	}
	ofBroker = []Family{
		{"bellhop_checkins_total", "counter", []string{"result"}, "check-ins, by `ok` or the error's code"},
		{"bellhop_checkin_duration_seconds", "histogram", nil, "how long check-ins took, with the call to the host"},
		{
			"bellhop_ingest_total", "counter",
			[]string{"result"},
			"requests and pulls with events of hosts, by `ok` or the error's code",
		},
		{
			"bellhop_ingest_events_total", "counter",
			[]string{"outcome"},
			"events in them that were `accepted` or a `duplicate`",
		},
		{"bellhop_ingest_duration_seconds", "histogram", nil, "how long storing the events of a request took"},
		{
			"bellhop_event_lag_seconds", "histogram",
			nil, "age of a request's oldest event when it was stored, by the two clocks",
		},
		{
			"bellhop_host_calls_total", "counter",
			[]string{"call", "result"},
			"requests to agent hosts, by `ok` or the error's code",
		},
		{"bellhop_host_call_duration_seconds", "histogram", []string{"call"}, "how long requests to agent hosts took"},
		{"bellhop_hosts", "gauge", []string{"health"}, "registered agent hosts, by the result of the last probe"},
		{
			"bellhop_webhook_attempts_total", "counter",
			[]string{"kind", "result"},
			"deliveries to users' webhooks: `delivered`, `retry`, `failed`",
		},
		{"bellhop_webhook_attempt_duration_seconds", "histogram", []string{"kind"}, "how long an attempt took"},
		{"bellhop_webhook_lag_seconds", "histogram", []string{"kind"}, "time from queueing a delivery to its success"},
		{"bellhop_webhook_deliveries", "gauge", []string{"state"}, "deliveries that are `queued` or `held`"},
		{"bellhop_webhook_oldest_seconds", "gauge", nil, "age of the oldest queued delivery; 0 = none is queued"},
		{
			"bellhop_retention_rows_total", "counter",
			[]string{"step"},
			"rows that retention and erasure removed, tasks that they deleted, bodies that they removed",
		},
		{
			"bellhop_retention_runs_total", "counter",
			[]string{"step", "result"},
			"rounds of retention and erasure, by `ok` or the error's code",
		},
		{"go_sql_max_open_connections", "gauge", []string{"db_name"}, "limit of the database pool `writer` or `reader`"},
		{"go_sql_open_connections", "gauge", []string{"db_name"}, "connections of the pool"},
		{"go_sql_in_use_connections", "gauge", []string{"db_name"}, "connections that a request uses"},
		{"go_sql_idle_connections", "gauge", []string{"db_name"}, "idle connections"},
		{"go_sql_wait_count_total", "counter", []string{"db_name"}, "times that a request waited for a connection"},
		{"go_sql_wait_duration_seconds_total", "counter", []string{"db_name"}, "how long requests waited for one"},
		{
			"go_sql_max_idle_closed_total", "counter",
			[]string{"db_name"},
			"connections that were closed because enough were idle",
		},
		{
			"go_sql_max_idle_time_closed_total", "counter",
			[]string{"db_name"},
			"connections that were closed because they were idle for long",
		},
		{
			"go_sql_max_lifetime_closed_total", "counter",
			[]string{"db_name"},
			"connections that were closed because of their age",
		},
	}
	ofHost = []Family{
		{"bellhop_turns_total", "counter", []string{"agent", "result"}, "turns that ended, by their finish reason"},
		{
			"bellhop_turn_duration_seconds", "histogram",
			[]string{"agent"},
			"how long turns took, with waits for users' answers",
		},
		{"bellhop_turns_open", "gauge", nil, "turns that run"},
		{"bellhop_sessions", "gauge", []string{"status"}, "sessions, by status"},
		{"bellhop_outbox_events", "gauge", nil, "events that the brokers have not acknowledged"},
		{"bellhop_outbox_oldest_seconds", "gauge", nil, "age of the oldest of them; 0 = there is none"},
		{"bellhop_outbox_sessions", "gauge", []string{"state"}, "sessions, by the state of their outbox"},
		{
			"bellhop_outbox_posts_total", "counter",
			[]string{"result"},
			"requests with events to brokers: `ok`, `refused`, `unreachable`",
		},
		{"bellhop_outbox_posted_events_total", "counter", nil, "events in requests that a broker accepted"},
		{"bellhop_outbox_post_duration_seconds", "histogram", nil, "how long such a request took"},
		{"bellhop_dead_letters", "gauge", nil, "events that a broker refused for good, at most 100 are counted"},
	}
)

// Families returns the metrics of a role, those of both roles first.
func Families(role string) []Family {
	own := ofBroker
	if role == RoleHost {
		own = ofHost
	}
	return append(append([]Family{}, ofBoth...), own...)
}

// Row returns the family as a row of docs/metrics.md.
func (f Family) Row() string {
	labels := "–"
	if len(f.Labels) > 0 {
		labels = "`" + strings.Join(f.Labels, "` `") + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |", f.Name, f.Kind, labels, f.Help)
}
