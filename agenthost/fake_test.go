package agenthost_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"bellhop/agenthost"
	"bellhop/internal/sse"
	"bellhop/protocol"
)

// step is one thing a scripted agent does.
type step func(ctx context.Context, out agenthost.Output) error

func writeText(delta string) step {
	return func(_ context.Context, out agenthost.Output) error { return out.Text(delta) }
}

func endText(final string) step {
	return func(_ context.Context, out agenthost.Output) error { return out.EndText(final) }
}

func reason(delta string) step {
	return func(_ context.Context, out agenthost.Output) error { return out.Reasoning(delta) }
}

func callTool(id, name, input string) step {
	return func(_ context.Context, out agenthost.Output) error {
		return out.ToolCall(agenthost.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)})
	}
}

func toolResult(id, output string) step {
	return func(_ context.Context, out agenthost.Output) error {
		return out.ToolResult(agenthost.ToolResult{ID: id, Output: json.RawMessage(output)})
	}
}

// confirm asks about a call and answers it as the user did.
func confirm(id, tool string) step {
	return func(ctx context.Context, out agenthost.Output) error {
		a, err := out.Confirm(ctx, agenthost.Question{
			Prompt: "Run " + tool + "?", ToolCallID: id, ToolName: tool, Level: "WARN",
		})
		if err != nil {
			return err
		}
		return out.ToolResult(agenthost.ToolResult{ID: id, Output: json.RawMessage(`"done"`), Denied: !a.Approved})
	}
}

func ask(prompt string) step {
	return func(ctx context.Context, out agenthost.Output) error {
		a, err := out.Ask(ctx, agenthost.Question{Prompt: prompt})
		if err != nil {
			return err
		}
		if a.Expired {
			a.Text = "nothing"
		}
		return out.Text("You said " + a.Text)
	}
}

// wait lets the turn continue when gate is closed.
func wait(gate <-chan struct{}) step {
	return func(ctx context.Context, _ agenthost.Output) error {
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// forever ends with the turn.
func forever(ctx context.Context, _ agenthost.Output) error {
	<-ctx.Done()
	return ctx.Err()
}

// fakeAgent plays scripts, for any number of sessions.
type fakeAgent struct {
	mu            sync.Mutex
	steps         []step
	outcome       agenthost.Outcome
	specs         []agenthost.AgentSpec
	stops         int
	interruptible bool
}

func newFakeAgent() *fakeAgent { return &fakeAgent{interruptible: true} }

// script is for all turns that begin from now on.
func (f *fakeAgent) script(steps ...step) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps, f.outcome = steps, agenthost.Outcome{}
}

func (f *fakeAgent) ends(o agenthost.Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outcome = o
}

// ignoreInterrupts makes interrupts do nothing.
func (f *fakeAgent) ignoreInterrupts() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.interruptible = false
}

func (f *fakeAgent) stopped() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stops
}

func (f *fakeAgent) Open(_ context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.specs = append(f.specs, spec)
	return &fakeRun{fake: f}, nil
}

// fakeRun is the agent of one session.
type fakeRun struct {
	fake *fakeAgent

	mu     sync.Mutex
	cancel context.CancelFunc
	done   chan struct{}
}

func (a *fakeRun) Run(ctx context.Context, _ agenthost.Prompt, out agenthost.Output) (agenthost.Outcome, error) {
	ctx, cancel := context.WithCancel(ctx) // its end is the turn's: what Run leaves open is closed by the host
	done := make(chan struct{})
	defer close(done)
	a.mu.Lock()
	a.cancel, a.done = cancel, done
	a.mu.Unlock()
	a.fake.mu.Lock()
	steps, outcome := a.fake.steps, a.fake.outcome
	a.fake.mu.Unlock()
	for _, s := range steps {
		if err := s(ctx, out); err != nil {
			return agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}, nil
		}
	}
	return outcome, nil
}

func (a *fakeRun) Interrupt(context.Context) error {
	a.mu.Lock()
	cancel, done := a.cancel, a.done
	a.mu.Unlock()
	a.fake.mu.Lock()
	interruptible := a.fake.interruptible
	a.fake.mu.Unlock()
	if cancel != nil && interruptible {
		cancel()
		<-done
	}
	return nil
}

func (a *fakeRun) Stop(context.Context) error {
	a.fake.mu.Lock()
	defer a.fake.mu.Unlock()
	a.fake.stops++
	return nil
}

func (a *fakeRun) Close(context.Context) error { return nil }

// frame is a parsed frame and its bytes.
type frame struct {
	id   string
	part protocol.Part
	json string
}

func parseFrame(t *testing.T, data []byte) frame {
	t.Helper()
	got, err := sse.NewReader(bytes.NewReader(data)).Next()
	if err != nil {
		t.Fatalf("frame %q: %v", data, err)
	}
	f := frame{id: got.ID, json: string(got.Data)}
	if err := json.Unmarshal(got.Data, &f.part); err != nil || got.Event != "message" {
		t.Fatalf("frame %q: %v", data, err)
	}
	return f
}

func types(frames []frame) []string {
	out := make([]string, len(frames))
	for i := range frames {
		out[i] = frames[i].part.Type
	}
	return out
}

// fakeBroker stores posted events like a broker: without gaps per session and
// epoch. A scripted response has precedence.
type fakeBroker struct {
	server *httptest.Server
	base   string // its address

	life  protocol.Life // of its database, in every answer; zero: none
	asked int           // requests without a token, which only ask for the life

	fragment string // of its webhook URLs
	name     string // in its answers; "" = broker-1

	mu          sync.Mutex
	events      map[string][]protocol.Event // accepted ones, by session
	requests    []request
	answers     []func(w http.ResponseWriter, r request)                  // each for one request; nil answers as usual
	refuse      func(request) (status int, code protocol.Code, index int) // set before the first request
	renewed     int
	unreachable bool // no request arrives
}

type request struct {
	path, query, bearer string
	token               string // in the header of a renewal
	body                []byte
	events              []protocol.Event
}

func newFakeBroker(t *testing.T) *fakeBroker {
	b := &fakeBroker{events: map[string][]protocol.Event{}}
	b.server = httptest.NewServer(b)
	b.base = b.server.URL
	t.Cleanup(b.server.Close)
	return b
}

func (b *fakeBroker) url() string { return b.base + "/api/agent/webhook?token=first" + b.fragment }

// next scripts the answers of the next requests.
func (b *fakeBroker) next(answers ...func(http.ResponseWriter, request)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers = append(b.answers, answers...)
}

func (b *fakeBroker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	req := request{
		path: r.URL.Path, query: r.URL.RawQuery, bearer: r.Header.Get("Authorization"),
		body: body, token: r.Header.Get(protocol.HeaderWebhookToken),
	}
	var batch protocol.WebhookBatch
	if json.Unmarshal(body, &batch) == nil && len(batch.Events) > 0 {
		for _, raw := range batch.Events {
			req.events = append(req.events, parseEvent(raw))
		}
	} else {
		req.events = []protocol.Event{parseEvent(body)}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unreachable {
		panic(http.ErrAbortHandler)
	}
	b.requests = append(b.requests, req)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set(protocol.HeaderBroker, cmp.Or(b.name, "broker-1"))
	w.Header().Set(protocol.HeaderRequest, r.Header.Get(protocol.HeaderRequest))
	if !b.life.IsZero() {
		w.Header().Set(protocol.HeaderLife, b.life.Short())
	}
	if req.bearer == "" && r.URL.Query().Get("token") == "" {
		b.asked++
		http.Error(w, `{"error":"Missing token","code":"invalid"}`, http.StatusBadRequest)
		return
	}
	if len(b.answers) > 0 {
		answer := b.answers[0]
		b.answers = b.answers[1:]
		if answer != nil {
			answer(w, req)
			return
		}
	}
	if r.URL.Path == "/api/agent/webhook/renew" {
		b.renewed++
		_ = json.NewEncoder(w).Encode(protocol.RenewResponse{
			WebhookURL: b.base + "/api/agent/webhook?token=renewed" + b.fragment,
		})
		return
	}
	if b.refuse != nil {
		if status, code, index := b.refuse(req); status != 0 {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": "refused", "code": code, "index": index})
			return
		}
	}
	b.ingest(w, req)
}

func parseEvent(raw []byte) protocol.Event {
	e, err := protocol.ParseEvent(raw)
	if err != nil {
		return protocol.Event{Type: "unreadable", Message: err.Error()}
	}
	return *e
}

func (b *fakeBroker) ingest(w http.ResponseWriter, req request) {
	id := req.events[0].SessionID
	for i, e := range req.events {
		cursor := cursorOf(b.events[id])
		switch at := (protocol.Cursor{Epoch: e.Epoch, Seq: e.Seq}); {
		case e.Type == "unreadable":
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": e.Message, "code": protocol.CodeInvalid, "index": i})
			return
		case e.Epoch == cursor.Epoch && e.Seq <= cursor.Seq:
			if !b.has(id, e) {
				w.WriteHeader(http.StatusConflict)
				_ = json.NewEncoder(w).Encode(map[string]any{
					"error": "another event stands there", "code": protocol.CodeDiverged, "cursor": cursor, "index": i,
				})
				return
			}
		case e.Epoch == cursor.Epoch && e.Seq == cursor.Seq+1, e.Epoch > cursor.Epoch && e.Seq == 1:
			b.events[id] = append(b.events[id], e)
		case e.Epoch < cursor.Epoch:
			refuse(w, 409, protocol.CodeFenced, nil)
			return
		default:
			if e.Epoch > cursor.Epoch {
				cursor = protocol.Cursor{Epoch: at.Epoch}
			}
			refuse(w, 409, protocol.CodeGap, &cursor)
			return
		}
	}
	cursor := cursorOf(b.events[id])
	_ = json.NewEncoder(w).Encode(protocol.IngestResponse{Success: true, Accepted: len(req.events), Cursor: &cursor})
}

// has reports whether the very event e is accepted; events without an id are
// what a test put there itself.
func (b *fakeBroker) has(session string, e protocol.Event) bool {
	return slices.ContainsFunc(b.events[session], func(known protocol.Event) bool {
		return known.Epoch == e.Epoch && known.Seq == e.Seq && (known.EventID == e.EventID || known.EventID == "")
	})
}

func refuse(w http.ResponseWriter, status int, code protocol.Code, cursor *protocol.Cursor) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": "refused", "code": code, "cursor": cursor})
}

func answering(status int, code protocol.Code) func(http.ResponseWriter, request) {
	return func(w http.ResponseWriter, _ request) { refuse(w, status, code, nil) }
}

func cursorOf(events []protocol.Event) protocol.Cursor {
	if len(events) == 0 {
		return protocol.Cursor{}
	}
	last := events[len(events)-1]
	return protocol.Cursor{Epoch: last.Epoch, Seq: last.Seq}
}

// gateway is the answer of something between host and broker.
func gateway(answer func(http.ResponseWriter, request)) func(http.ResponseWriter, request) {
	return func(w http.ResponseWriter, r request) {
		w.Header().Del(protocol.HeaderBroker)
		w.Header().Del(protocol.HeaderRequest)
		answer(w, r)
	}
}

// refuseAll makes every request fail while v is true.
func (b *fakeBroker) refuseAll(v bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unreachable = v
}

func (b *fakeBroker) cursorOf(session string) *protocol.Cursor {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := cursorOf(b.events[session])
	return &c
}

func (b *fakeBroker) of(session string) []protocol.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]protocol.Event{}, b.events[session]...)
}

func (b *fakeBroker) seen() []request {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]request{}, b.requests...)
}
