package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/agenthost"
	"bellhop/agenthost/api"
	"bellhop/agenthost/journal"
	"bellhop/agenthost/provider/jsonl"
	"bellhop/agenthost/provider/providertest"
	"bellhop/agenthost/workspace"
	"bellhop/crypto/seal"
	"bellhop/internal/httpapi"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/apicheck"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	password = "canary-agent-password"
	console  = "https://console.example.com"
	guard    = 3 * time.Minute // ends a test that hangs
)

// markAgent is an agent program that answers with its session's mark from the input.
const markAgent = `
while read -r line; do
	case $line in
	*'"type":"input"'*)
		mark=${line#*canary}; mark=canary${mark%%x*}x
		echo "{\"type\":\"chunk\",\"content\":\"$mark\"}"
		echo "{\"type\":\"tool_start\",\"id\":\"1\",\"name\":\"t\",\"arguments\":{\"of\":\"$mark\"}}"
		echo "{\"type\":\"confirm\",\"request_id\":\"q\",\"prompt\":\"$mark?\",\"tool_name\":\"t\"}"
		;;
	*'"type":"confirmation"'*)
		echo "{\"type\":\"tool_message\",\"id\":\"1\",\"name\":\"t\",\"content\":\"$mark\"}"
		echo "$mark is no line"
		echo '{"type":"state","state":"waiting_for_input","reason":"done"}'
		;;
	*'"type":"interrupt"'*) echo '{"type":"state","state":"waiting_for_input","reason":"interrupted"}' ;;
	esac
done`

// host is an agent host on a loopback port, with a fake agent and a broker that
// acknowledges every event.
type host struct {
	t     *testing.T
	url   string
	fake  *providertest.Fake
	clock *testenv.Clock
	log   *lockedBuffer
	data  string
	kept  *journal.Journal
	stop  func() // ends Host.Run like SIGTERM, and waits for it

	// undescribed: the next requests are accepted although the document does not describe them.
	undescribed bool
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// acceptingBroker acknowledges every batch of the outbox.
type acceptingBroker struct{}

func (acceptingBroker) Do(r *http.Request) (*http.Response, error) {
	var batch struct {
		protocol.Event
		Events []protocol.Event `json:"events"`
	}
	if err := json.NewDecoder(r.Body).Decode(&batch); err != nil {
		return nil, err
	}
	if len(batch.Events) == 0 {
		batch.Events = []protocol.Event{batch.Event}
	}
	last := batch.Events[len(batch.Events)-1]
	body, err := json.Marshal(protocol.IngestResponse{
		Success: true, Accepted: len(batch.Events), Cursor: &protocol.Cursor{Epoch: last.Epoch, Seq: last.Seq},
	})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, nil
}

// newHost starts a host. Before that, change may modify its API and its server.
func newHost(t *testing.T, change func(*api.API, *http.Server)) *host {
	t.Helper()
	return newHostWith(t, nil, change)
}

// newHostWith starts a host whose users may open shells.
func newHostWith(t *testing.T, shells *agenthost.ShellOptions, change func(*api.API, *http.Server)) *host {
	t.Helper()
	h := &host{
		t: t, fake: &providertest.Fake{},
		clock: testenv.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), log: &lockedBuffer{},
	}
	log := slog.New(slog.NewJSONHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	data := t.TempDir()
	h.data = data
	records, err := journal.Open(data, h.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	h.kept = records
	workspaces, err := workspace.New(workspace.Options{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	domain, err := agenthost.New(agenthost.Options{
		Journal: records, DefaultAgent: "demo",
		Providers: map[string]agenthost.Provider{
			"demo": h.fake, "program": jsonl.New(jsonl.Options{Name: "program", Command: []string{"sh", "-c", markAgent}}),
		},
		Workspaces: workspaces, Poster: acceptingBroker{}, Password: seal.NewSecret(password), Now: h.clock.Now, Log: log,
		Shells: shells,
	})
	if err != nil {
		t.Fatal(err)
	}
	a := &api.API{
		Host: domain, Password: seal.NewSecret(password), AllowedOrigins: []string{console}, Log: log, Settle: guard,
		Version: "v9", Now: h.clock.Now, Streams: &httpapi.Streams{},
	}
	base, cut := context.WithCancel(context.Background())
	server := httptest.NewUnstartedServer(nil)
	server.Config = httpapi.Server(nil, httpapi.ServerOptions{Log: log})
	if change != nil {
		change(a, server.Config)
	}
	e := httpapi.New(httpapi.Options{Log: log})
	a.Routes(e)
	server.Config.Handler = e
	server.Start()
	h.url = server.URL
	running := make(chan error, 1)
	go func() { running <- domain.Run(base) }()
	h.stop = sync.OnceFunc(func() {
		cut()
		if err := <-running; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(func() {
		h.stop()
		server.CloseClientConnections()
		server.Close()
		if a.Streams != nil {
			a.Streams.Shutdown(context.Background())
		}
		if err := records.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return h
}

// request describes one request; header lines are "Name: value".
type request struct {
	method, path, body string
	header             []string
}

func (h *host) do(ctx context.Context, q request) *http.Response {
	h.t.Helper()
	var body io.Reader
	if q.body != "" {
		body = strings.NewReader(q.body)
	}
	r, err := http.NewRequestWithContext(ctx, q.method, h.url+q.path, body)
	if err != nil {
		h.t.Fatal(err)
	}
	if q.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, line := range q.header {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "Host":
			r.Host = value
		case "Content-Type":
			r.Header.Set(name, value)
		default:
			r.Header.Add(name, value)
		}
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if !h.undescribed {
		client.Transport = apicheck.Host(h.t).Transport(h.t, http.DefaultTransport)
	}
	resp, err := client.Do(r)
	if err != nil {
		h.t.Fatalf("%s %s: %v", q.method, q.path, err)
	}
	h.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// call sends a request and reads the complete response.
func (h *host) call(q request) (status int, header http.Header, body string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), guard)
	defer cancel()
	resp := h.do(ctx, q)
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatalf("%s %s: %v", q.method, q.path, err)
	}
	return resp.StatusCode, resp.Header, strings.TrimSpace(string(raw))
}

const bearerPassword = "Authorization: Bearer " + password

// open opens a session and returns its token. more has further members of the body,
// such as `"attach":true`.
func (h *host) open(session string, more ...string) string {
	h.t.Helper()
	body := fmt.Sprintf(`{"sessionId":%q,"webhookUrl":"http://127.0.0.1:1/api/agent/webhook?token=canary-webhook-token","brokerId":"b1"`, session)
	for _, member := range more {
		body += "," + member
	}
	status, _, answer := h.call(request{"POST", "/session", body + "}", []string{bearerPassword}})
	var opened protocol.OpenSessionResponse
	if err := json.Unmarshal([]byte(answer), &opened); err != nil || status != http.StatusOK || opened.Token == "" {
		h.t.Fatalf("open: %d %s", status, answer)
	}
	return opened.Token
}

// announce opens a session with an announced turn that the token can start.
func (h *host) announce(session, turn string) string {
	h.t.Helper()
	return h.open(session, fmt.Sprintf(`"turn":{"id":%q}`, turn))
}

func expectEqual(t *testing.T, what, got, wanted string) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s:\n got %s\nwant %s", what, got, wanted)
	}
}

// finishedEvents polls the session's events until its turn is finished.
func (h *host) finishedEvents(session string) []protocol.Event {
	h.t.Helper()
	for start := time.Now(); time.Since(start) < guard; time.Sleep(time.Millisecond) {
		_, _, body := h.call(request{"GET", "/session/" + session + "/events", "", []string{bearerPassword}})
		var page struct {
			protocol.EventsResponse
			Events []protocol.Event `json:"events"`
		}
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			h.t.Fatalf("%v: %s", err, body)
		}
		for _, event := range page.Events {
			if event.Type == protocol.EventFinish {
				return page.Events
			}
		}
	}
	h.t.Fatal("the turn does not finish")
	return nil
}

var (
	uuids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	tokens = regexp.MustCompile(`"token":"[^"]+"`)
)

// normalized replaces random values in a response.
func normalized(body string) string {
	return tokens.ReplaceAllString(uuids.ReplaceAllString(body, "<id>"), `"token":"<token>"`)
}

var commits = regexp.MustCompile(`"base":"[0-9a-f]{40}"`)

func normalizedCommit(body string) string { return commits.ReplaceAllString(body, `"base":"<commit>"`) }

// errorBody returns the JSON body of an error.
func errorBody(message string, code protocol.Code, hint string) string {
	body := fmt.Sprintf(`{"error":%q,"code":%q`, message, code)
	if hint != "" {
		body += fmt.Sprintf(`,"hint":%q`, hint)
	}
	return body + "}"
}

func itoa(n int) string { return strconv.Itoa(n) }

// readiness returns no error while the flag is set.
func readiness(ready *atomic.Bool) func(context.Context) error {
	return func(context.Context) error {
		if ready.Load() {
			return nil
		}
		return errors.New("the disk is full")
	}
}
