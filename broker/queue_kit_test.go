package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

// promptHost is a host that starts each announced turn once. As a basic host it starts one for
// each prompt, and its stream is what streams holds.
type promptHost struct {
	mu      sync.Mutex
	basic   bool
	open    string            // the turn that the host says is open
	turns   map[string]string // started: the prompt's text by token
	order   []string          // texts in the order in which their turns started
	bodies  []string
	streams map[string]io.Reader // by text; "" for all others

	beforeStart, afterStart func()                                 // may end the broker's goroutine
	answer                  func(token string) (int, string, bool) // instead of a start
	unreachable             bool
	attached                bool // as POST /session says
}

// opens answers POST /session.
func (h *promptHost) opens(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unreachable {
		return nil, &protocol.Error{Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server"}
	}
	opened := &protocol.OpenSessionResponse{Token: protocol.NewID()}
	if h.basic {
		return opened, nil
	}
	opened.Attached, opened.OpenTurn = h.attached, h.open
	opened.Capabilities = []string{protocol.CapabilityEvents}
	if req.Turn != nil {
		opened.Token = req.Turn.ID
	}
	return opened, nil
}

// Relay answers POST /stream.
func (h *promptHost) Relay(ctx context.Context, _ broker.Target, r *broker.RelayRequest) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if h.beforeStart != nil {
		h.beforeStart()
	}
	h.mu.Lock()
	status, text := h.start(r, body)
	h.mu.Unlock()
	if h.afterStart != nil {
		h.afterStart()
	}
	if status == 0 {
		return nil, &protocol.Error{Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server"}
	}
	stream := io.Reader(strings.NewReader(text))
	if found := h.streams[text]; found != nil {
		stream = found
	}
	if closer, ok := stream.(io.Closer); ok {
		context.AfterFunc(ctx, func() { _ = closer.Close() })
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(stream)}, nil
}

func (h *promptHost) start(r *broker.RelayRequest, body []byte) (status int, text string) {
	token := r.Query.Get("token")
	if !h.basic {
		_, token, _ = strings.Cut(r.Header.Get("Authorization"), " ")
	}
	if h.answer != nil {
		if status, text, done := h.answer(token); done {
			return status, text
		}
	}
	var prompt protocol.PromptRequest
	if json.Unmarshal(body, &prompt) != nil || token == "" {
		return http.StatusBadRequest, `{"error":"no prompt","code":"invalid"}`
	}
	if _, known := h.turns[token]; !known {
		if h.turns == nil {
			h.turns = map[string]string{}
		}
		h.turns[token] = prompt.Prompt
		h.order, h.bodies = append(h.order, prompt.Prompt), append(h.bodies, string(body))
	}
	return http.StatusOK, prompt.Prompt
}

// started returns the texts of the turns that were started.
func (h *promptHost) started() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.order, ",")
}

// queueKit is a kit with a queue, a task, and a host that takes prompts.
type queueKit struct {
	*kit
	at    *promptHost
	queue *broker.Queue
	task  string
}

func newQueueKit(t *testing.T) *queueKit { return queueKitOn(newKit(t)) }

func queueKitOn(k *kit) *queueKit {
	at := &promptHost{}
	k.host.onOpen, k.sessions.Relayer = at.opens, at
	q := &queueKit{kit: k, at: at}
	q.queue = q.replica()
	q.task = k.task().ID
	return q
}

// replica returns a queue on the same database.
func (q *queueKit) replica() *broker.Queue {
	return &broker.Queue{
		Store: q.store, Updater: q.updater, Sessions: q.sessions, Now: q.clock.Now, Log: slog.New(slog.DiscardHandler),
	}
}

// add queues texts, whose ids they are.
func (q *queueKit) add(texts ...string) {
	q.t.Helper()
	for _, text := range texts {
		_, err := q.queue.Add(q.ctx, q.user.UserID, q.task, &protocol.QueueMessageRequest{Message: text, MessageID: text})
		q.must(err)
	}
}

// list returns the queue in short: "a b:sending | stopped".
func (q *queueKit) list() string {
	q.t.Helper()
	queue, err := q.queue.List(q.ctx, q.user.UserID, q.task)
	q.must(err)
	var parts []string
	for _, m := range queue.Messages {
		text := m.Message
		if m.State != protocol.QueuedWaiting {
			text += ":" + string(m.State)
		}
		parts = append(parts, text)
	}
	if summary := q.get(q.task).Queue; (summary == nil) != (len(parts) == 0) ||
		summary != nil && (summary.Messages != len(parts) || summary.Paused != queue.Paused || summary.Rev != queue.Rev) {
		q.t.Errorf("the task has %+v, the queue %+v", summary, queue)
	}
	if queue.Paused != "" {
		parts = append(parts, strings.TrimSpace("| "+string(queue.Paused)+" "+queue.Reason))
	}
	return strings.Join(parts, " ")
}

func (q *queueKit) wantQueue(want string) {
	q.t.Helper()
	if got := q.list(); got != want {
		q.t.Errorf("the queue is %q, want %q", got, want)
	}
}

func (q *queueKit) wantStarted(want string) {
	q.t.Helper()
	if got := q.at.started(); got != want {
		q.t.Errorf("turns of %q started, want %q", got, want)
	}
}

// history returns the user's messages with their states.
func (q *queueKit) history() string {
	q.t.Helper()
	var parts []string
	for _, m := range q.messages(q.task) {
		if m.Role == protocol.RoleUser {
			parts = append(parts, m.Message+":"+string(m.Status))
		}
	}
	return strings.Join(parts, " ")
}

func (q *queueKit) wantHistory(want string) {
	q.t.Helper()
	if got := q.history(); got != want {
		q.t.Errorf("the history is %q, want %q", got, want)
	}
}

// turnOf returns the turn of a message in the history.
func (q *queueKit) turnOf(message string) string {
	q.t.Helper()
	for _, m := range q.messages(q.task) {
		if m.ID == message {
			return m.TurnID
		}
	}
	q.t.Fatalf("no message %s", message)
	return ""
}

// events sends events of a message's turn, the next ones of the session.
func (q *queueKit) events(message string, rest ...string) {
	q.t.Helper()
	task, err := q.store.AnyTask(q.ctx, q.task)
	q.must(err)
	for i, r := range rest {
		q.mustSend(q.task, "", seqd(max(task.Cursor.Epoch, 1), task.Cursor.Seq+1+int64(i), q.turnOf(message), r))
	}
}

func finish(reason protocol.FinishReason, words string) string {
	return fmt.Sprintf(`'type':'finish','finishReason':'%s','reason':'%s'`, reason, words)
}

// dies ends the goroutine of the broker that calls it, once.
func dies() func() {
	var once sync.Once
	return func() { once.Do(runtime.Goexit) }
}

func onBothDatabases(t *testing.T, test func(t *testing.T, q *queueKit)) {
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) { test(t, queueKitOn(kitOn(t, open(t)))) })
}
