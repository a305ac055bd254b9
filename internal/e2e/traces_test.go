package e2e

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"bellhop/protocol"
)

// span is an exported span, by its service.
type span struct{ service, name, trace, id, parent, result string }

// spans is a collector of OpenTelemetry.
type spans struct {
	*httptest.Server
	t testing.TB

	mu      sync.Mutex
	all     []span
	headers []string // Authorization of the requests
}

func newSpans(t testing.TB) *spans {
	c := &spans{t: t}
	c.Server = httptest.NewServer(http.HandlerFunc(c.export))
	t.Cleanup(c.Close)
	return c
}

func (c *spans) export(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &request) != nil {
		c.t.Errorf("%s %s: no traces: %v", r.Method, r.URL, err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header.Get("Authorization"))
	for _, group := range request.GetResourceSpans() {
		service := group.GetResource().GetAttributes()[0].GetValue().GetStringValue()
		for _, scope := range group.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				one := span{
					service: service, name: s.GetName(), trace: hex.EncodeToString(s.GetTraceId()),
					id: hex.EncodeToString(s.GetSpanId()), parent: hex.EncodeToString(s.GetParentSpanId()),
				}
				for _, a := range s.GetAttributes() {
					if a.GetKey() == "bellhop.result" {
						one.result = a.GetValue().GetStringValue()
					}
				}
				c.all = append(c.all, one)
			}
		}
	}
}

// path returns the spans from the root of a trace to the first span of a name, as SERVICE NAME.
func (c *spans) path(service, name string) (path []string, trace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.all {
		if s.service != service || s.name != name {
			continue
		}
		trace = s.trace
		for found := true; found; {
			path = append(path, s.service+" "+s.name)
			at := slices.IndexFunc(c.all, func(other span) bool { return other.id == s.parent && other.trace == s.trace })
			if found = at >= 0; found {
				s = c.all[at]
			}
		}
		slices.Reverse(path)
		return path, trace
	}
	return nil, ""
}

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
	c := newSpans(t)
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

	path, trace := c.path("bellhop-broker", "ingest")
	want := []string{
		"bellhop-broker POST /api/agent", "bellhop-broker check-in", "bellhop-broker call session",
		"bellhop-host POST /session", "bellhop-host turn tracing", "bellhop-host post events",
		"bellhop-broker POST /api/agent/webhook", "bellhop-broker ingest",
	}
	if !slices.Equal(path, want) {
		t.Errorf("the trace:\n%s\nwant:\n%s\nall: %+v", strings.Join(path, "\n"), strings.Join(want, "\n"), c.all)
	}
	if text := transcript.Text(); !strings.HasPrefix(text, "00-"+trace+"-") || trace == "" {
		t.Errorf("the agent has TRACEPARENT=%q, want a span of the trace %s", text, trace)
	}
	for _, h := range c.headers {
		if h != "Bearer x" {
			t.Errorf("the collector got the header %q", h)
		}
	}
}

// A collector that is away costs nothing but its traces.
func TestACollectorThatIsAwayStopsNothing(t *testing.T) {
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
