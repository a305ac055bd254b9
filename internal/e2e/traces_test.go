//go:build full

package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"bellhop/internal/testenv/spans"
	"bellhop/protocol"
)

const tracingAgent = `
while read -r line; do
	case $line in *'"input"'*)
		echo '{"type":"state","state":"working"}'
		echo '{"type":"chunk","content":"'"$TRACEPARENT"'"}'
		echo '{"type":"state","state":"waiting_for_input","reason":"done"}' ;;
	esac
done
`

// One trace leads from the user's message over the host's turn and its agent to the stored events.
func TestOneTraceLeadsFromTheMessageToItsEvents(t *testing.T) {
	t.Parallel()
	c := spans.New(t)
	s := prepareStack(t, sqlite)
	traced := []string{
		"BELLHOP_TRACES_URL=" + c.URL, "BELLHOP_TRACES_RATIO=1", "BELLHOP_TRACES_HEADERS=Authorization=Bearer x",
	}
	command, err := json.Marshal([]string{"sh", "-c", tracingAgent})
	if err != nil {
		t.Fatal(err)
	}
	config := s.file("host.yaml", "default: tracing\nagents: {tracing: {command: "+string(command)+"}}\n")
	s.host.env = append(s.host.env, append(traced, "BELLHOP_HOST_CONFIG="+config)...)
	s.broker.env = append(s.broker.env, traced...)
	s.host.start()
	s.broker.start()
	user := s.user()
	created, err := user.CreateTask(t.Context(), &protocol.CreateTaskRequest{
		Title: "traced", Agent: "tracing", HostID: s.hostID,
	})
	if err != nil {
		t.Fatal(err)
	}
	task := created.ID
	transcript := turnOf(t, user, task, "hello")
	settle(t, user, task)
	s.host.stop()
	s.broker.stop()

	for _, log := range []string{s.host.log.String(), s.broker.log.String()} {
		if !strings.Contains(log, "traces are exported") || !strings.Contains(log, "share=1") {
			t.Errorf("the log does not say what is exported:\n%s", log)
		}
	}
	path, trace := c.Path("bellhop-broker", "POST /api/agent/webhook")
	want := []string{
		"bellhop-broker POST /api/agent", "bellhop-broker check-in", "bellhop-broker call session",
		"bellhop-host POST /session", "bellhop-host turn tracing", "bellhop-host post events",
		"bellhop-broker POST /api/agent/webhook",
	}
	if !slices.Equal(path, want) {
		t.Errorf("the trace:\n%s\nwant:\n%s\nall: %+v", strings.Join(path, "\n"), strings.Join(want, "\n"), c.Spans())
	}
	if text := transcript.Text(); !strings.HasPrefix(text, "00-"+trace+"-") || trace == "" {
		t.Errorf("the agent has TRACEPARENT=%q, want a span of the trace %s", text, trace)
	}
	for _, h := range c.Headers() {
		if h != "Bearer x" {
			t.Errorf("the collector got the header %q", h)
		}
	}
}

// A collector that is away costs nothing but its traces.
func TestACollectorThatIsAwayStopsNothing(t *testing.T) {
	t.Parallel()
	s := prepareStack(t, sqlite)
	traced := []string{"BELLHOP_TRACES_URL=http://" + freeAddr(t), "BELLHOP_TRACES_RATIO=1"}
	s.host.env, s.broker.env = append(s.host.env, traced...), append(s.broker.env, traced...)
	s.host.start()
	s.broker.start()
	task, user := s.task("traced"), s.user()
	turnOf(t, user, task, "hello")
	settle(t, user, task)
	s.host.stop()
	s.broker.stop()
	if log := s.broker.log.String(); !strings.Contains(log, "traces could not be exported") {
		t.Errorf("the broker says nothing of it:\n%s", log)
	}
}
