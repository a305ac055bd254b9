package broker_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

var start = time.Date(2026, 3, 4, 5, 6, 7, 891_000, time.UTC)

// kit is a broker without HTTP, on a real store, with a host in memory.
type kit struct {
	t          *testing.T
	ctx        context.Context
	clock      *testenv.Clock
	store      *store.Store
	host       *fakeHost
	notified   *notifications
	user       broker.Caller
	tasks      *broker.Tasks
	sessions   *broker.Sessions
	updater    *broker.Updater
	targets    *broker.Targets
	feeds      *broker.Feeds
	ingest     *broker.Ingest
	reconciler *broker.Reconciler
	questions  *broker.Interactions
	hosts      *broker.Hosts
	ends       *broker.SessionEnds
	upkeep     *broker.Maintenance
}

func newKit(t *testing.T) *kit { return kitOn(t, storetest.Open(t)) }

func kitOn(t *testing.T, st *store.Store) *kit {
	t.Helper()
	k := kitWithUser(t, st, broker.Caller{})
	k.user = k.newUser("ada@example.org", true)
	return k
}

func kitWithUser(t *testing.T, st *store.Store, user broker.Caller) *kit {
	t.Helper()
	clock := testenv.NewClock(start)
	log := slog.New(slog.DiscardHandler)
	notified := &notifications{}
	host := &fakeHost{}
	k := &kit{t: t, ctx: t.Context(), clock: clock, store: st, host: host, notified: notified, user: user}
	k.updater = &broker.Updater{Store: st, Notifier: notified, Now: clock.Now}
	k.targets = &broker.Targets{Store: st, Now: clock.Now}
	k.feeds = &broker.Feeds{Store: st}
	k.ingest = &broker.Ingest{Store: st, Updater: k.updater, Now: clock.Now, Log: log}
	k.reconciler = &broker.Reconciler{
		Store: st, Updater: k.updater, Targets: k.targets, Link: host, Ingest: k.ingest, Now: clock.Now, Log: log,
	}
	k.ends = &broker.SessionEnds{Store: st, Updater: k.updater, Targets: k.targets, Link: host, Now: clock.Now, Log: log}
	k.tasks = &broker.Tasks{Store: st, Updater: k.updater, Ends: k.ends, DefaultAgent: "demo", Now: clock.Now, Log: log}
	k.sessions = &broker.Sessions{
		Store: st, Updater: k.updater, Targets: k.targets, Link: host, Ends: k.ends, Reconciler: k.reconciler,
		BrokerID: "broker-1", PublicURL: "https://broker.example/", Now: clock.Now, Log: log,
	}
	k.questions = &broker.Interactions{Store: st, Targets: k.targets, Link: host}
	k.hosts = &broker.Hosts{Store: st, Link: host, Ends: k.ends, Now: clock.Now, Log: log}
	k.upkeep = &broker.Maintenance{Store: st, Updater: k.updater, Tasks: k.tasks, Now: clock.Now, Log: log}
	return k
}

func (k *kit) newUser(email string, admin bool) broker.Caller {
	k.t.Helper()
	id := protocol.NewID()
	k.must(k.store.CreateUser(k.ctx, &broker.User{
		ID: id, Email: email, PasswordHash: "-", Admin: admin, CreatedAt: start,
	}))
	return broker.Caller{UserID: id, Admin: admin}
}

func (k *kit) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

// task creates a task with a host URL of its own.
func (k *kit) task() *protocol.Task {
	k.t.Helper()
	task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{
		Title: "Fix it", AgentURL: "https://agent.example/", AgentPassword: "agent-password",
	})
	k.must(err)
	return task
}

func (k *kit) get(id string) *protocol.Task {
	k.t.Helper()
	task, err := k.tasks.Get(k.ctx, k.user.UserID, id, broker.Await{})
	k.must(err)
	return task
}

func (k *kit) messages(id string) []protocol.Message {
	k.t.Helper()
	list, err := k.tasks.Messages(k.ctx, k.user.UserID, id, broker.MessageQuery{Limit: 500})
	k.must(err)
	return list.Messages
}

func (k *kit) checkIn(taskID, message string) *protocol.CheckInResponse {
	k.t.Helper()
	answer, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{TaskID: taskID, Message: message})
	k.must(err)
	return answer
}

// send ingests event bodies. They are written with ' for ".
func (k *kit) send(taskID, claim string, bodies ...string) (*protocol.IngestResponse, error) {
	k.t.Helper()
	return k.ingest.Ingest(k.ctx, taskID, claim, inbound(k.t, bodies...))
}

func (k *kit) mustSend(taskID, claim string, bodies ...string) *protocol.IngestResponse {
	k.t.Helper()
	answer, err := k.send(taskID, claim, bodies...)
	k.must(err)
	return answer
}

func inbound(t *testing.T, bodies ...string) []broker.Inbound {
	t.Helper()
	events := make([]broker.Inbound, len(bodies))
	for i, body := range bodies {
		raw := json.RawMessage(strings.ReplaceAll(body, "'", `"`))
		event, err := protocol.ParseEvent(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		events[i] = broker.Inbound{Raw: raw, Event: event}
	}
	return events
}

// seqd returns an event with eventId, epoch, seq and turnId, followed by rest.
func seqd(epoch, seq int64, turn, rest string) string {
	return fmt.Sprintf(`{'eventId':'e%d-%d','epoch':%d,'seq':%d,'turnId':'%s','timestamp':%d,%s}`, epoch, seq, epoch,
		seq, turn, seq, rest)
}

func text(s string) string { return fmt.Sprintf(`'type':'text','id':'t','text':'%s'`, s) }

const finishStop = `'type':'finish','finishReason':'stop'`

// same compares complete JSON values; want is written with ' for ".
func same(t *testing.T, got any, want string) {
	t.Helper()
	raw, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	a, err := protocol.Canonical([]byte(`{"v":` + string(raw) + `}`))
	if err != nil {
		t.Fatal(err)
	}
	b, err := protocol.Canonical([]byte(`{"v":` + strings.ReplaceAll(want, "'", `"`) + `}`))
	if err != nil {
		t.Fatalf("want: %v\n%s", err, want)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("\n got %s\nwant %s", a, b)
	}
}

// fault returns an error as the API shows it.
func fault(err error) any {
	var e *protocol.Error
	if err == nil {
		return nil
	}
	if !errors.As(err, &e) {
		return err.Error()
	}
	shown := map[string]any{"code": e.Code, "error": e.Message}
	if e.Hint != "" {
		shown["hint"] = e.Hint
	}
	if e.Cursor != nil {
		shown["cursor"] = e.Cursor
	}
	if e.Index != nil {
		shown["index"] = *e.Index
	}
	for name, value := range e.Fields {
		shown[name] = value
	}
	return shown
}

type notifications struct {
	mu   sync.Mutex
	last map[string]int64
}

func (n *notifications) Changed(_, taskID string, rev int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == nil {
		n.last = map[string]int64{}
	}
	n.last[taskID] = max(n.last[taskID], rev)
}

func (n *notifications) rev(taskID string) int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last[taskID]
}

// fakeHost answers with the functions and values that a test sets.
type fakeHost struct {
	mu       sync.Mutex
	ending   sync.Mutex // of deleted: a test deletes a task while its session opens
	opened   []*protocol.OpenSessionRequest
	targets  []broker.Target
	onOpen   func(*protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error)
	onEvents func(sessionID string, epoch, after int64, limit int) (*protocol.EventsResponse, error)
	onAnswer func(*protocol.AnswerRequest) error
	onDiff   func() (*protocol.Diff, error)

	onWorkspace func() (*protocol.SessionWorkspace, error)
	after       broker.EventsAfter // of the last call of Events
	onDelete    func(sessionID string) error
	onRevoke    func(sessionID string) error
	onReady     func(broker.Target) error
	health      broker.HostHealth // when onReady has no error; "" = ok
	interrupts  []string
	stopped     []string // the turns of interrupts
	restarts    int
	open        *string // the open turn that it tells; nil: it tells none
	deleted     []string
	confirmed   string // with the last deletion
	kept        []string
	untold      bool // it lists nothing
	names       bool // it names the request in its answers
	onlyCopies  *protocol.OnlyCopies
	revoked     []string
	failure     error // returned by interrupt
	signs       bool  // it announces signatures
	named       bool  // it announces credentials
}

func (h *fakeHost) Open(
	_ context.Context, t broker.Target, req *protocol.OpenSessionRequest,
) (*protocol.OpenSessionResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opened = append(h.opened, req)
	h.targets = append(h.targets, t)
	if h.onOpen != nil {
		return h.onOpen(req)
	}
	expires := start.Add(10 * time.Minute)
	capabilities := []string{protocol.CapabilityEvents}
	if h.signs {
		capabilities = append(capabilities, protocol.CapabilitySignatures)
	}
	if h.named {
		capabilities = append(capabilities, protocol.CapabilityCredentials)
	}
	return &protocol.OpenSessionResponse{
		Token: "stream-token", ExpiresAt: &expires, Cursor: req.Cursor, Status: protocol.StatusIdle,
		Capabilities: capabilities,
	}, nil
}

func (h *fakeHost) Events(
	_ context.Context, _ broker.Target, sessionID string, after broker.EventsAfter, limit int,
) (*protocol.EventsResponse, error) {
	h.mu.Lock()
	h.after = after
	h.mu.Unlock()
	return h.onEvents(sessionID, after.Cursor.Epoch, after.Cursor.Seq, limit)
}

func (h *fakeHost) OpenTurn(context.Context, broker.Target, string) (*string, error) {
	return h.open, h.failure
}

func (h *fakeHost) Interrupt(_ context.Context, _ broker.Target, sessionID, turnID string) error {
	h.interrupts = append(h.interrupts, sessionID)
	h.stopped = append(h.stopped, turnID)
	return h.failure
}

func (h *fakeHost) Restart(_ context.Context, _ broker.Target, sessionID string) (*protocol.RestartResponse, error) {
	h.restarts++
	if h.failure != nil {
		return nil, h.failure
	}
	return &protocol.RestartResponse{Success: true, SessionID: sessionID, EndedTurn: "turn-1"}, nil
}

func (h *fakeHost) Answer(_ context.Context, _ broker.Target, _, _ string, req *protocol.AnswerRequest) error {
	return h.onAnswer(req)
}

func (h *fakeHost) Diff(context.Context, broker.Target, string) (*protocol.Diff, error) {
	return h.onDiff()
}

func (h *fakeHost) Workspace(context.Context, broker.Target, string) (*protocol.SessionWorkspace, error) {
	return h.onWorkspace()
}

func (h *fakeHost) OnlyCopies(context.Context, broker.Target, string) (*protocol.OnlyCopies, error) {
	if h.onlyCopies == nil || h.untold {
		return nil, protocol.Errorf(protocol.CodeMethodNotAllowed, "not told")
	}
	return h.onlyCopies, h.failure
}

func (h *fakeHost) Delete(_ context.Context, _ broker.Target, sessionID, confirmed string) (*protocol.OnlyCopies, error) {
	h.ending.Lock()
	defer h.ending.Unlock()
	h.deleted, h.confirmed = append(h.deleted, sessionID), confirmed
	if h.onDelete != nil {
		return nil, h.onDelete(sessionID)
	}
	if !h.onlyCopies.Exist() || h.onlyCopies.ID == confirmed {
		return nil, nil //nolint:nilnil // nothing is kept
	}
	h.kept = append(h.kept, sessionID)
	return h.onlyCopies, nil
}

// delete deletes a task without a confirmation.
func (k *kit) delete(userID, id string) error {
	_, err := k.tasks.Delete(k.ctx, userID, id, "")
	return err
}

func (h *fakeHost) Revoke(_ context.Context, _ broker.Target, sessionID string) error {
	h.ending.Lock()
	defer h.ending.Unlock()
	h.revoked = append(h.revoked, sessionID)
	if h.onRevoke != nil {
		return h.onRevoke(sessionID)
	}
	return nil
}

func (h *fakeHost) RevokeCredentials(_ context.Context, t broker.Target, req *protocol.RevokeRequest) error {
	h.ending.Lock()
	defer h.ending.Unlock()
	at := fmt.Sprintf("%s at %s for %s", strings.Join(req.Credentials, ","), t.URL, req.BrokerID)
	h.revoked = append(h.revoked, at)
	if h.onRevoke != nil {
		return h.onRevoke(at)
	}
	return nil
}

func (h *fakeHost) Ready(_ context.Context, t broker.Target) (broker.HostHealth, bool, error) {
	return cmp.Or(h.health, broker.HostOK), h.names, h.onReady(t)
}

func (h *fakeHost) lastOpen() *protocol.OpenSessionRequest { return h.opened[len(h.opened)-1] }

func (h *fakeHost) lastPasswords() []string {
	var all []string
	for _, p := range h.targets[len(h.targets)-1].Passwords {
		all = append(all, p.Reveal())
	}
	return all
}

// openTurn returns the id of a task's open turn, "" for none.
func openTurn(task *protocol.Task) string {
	if task.OpenTurn == nil {
		return ""
	}
	return *task.OpenTurn
}
