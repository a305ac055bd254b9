package broker_test

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// recoveryHost answers what a host knows about all its sessions.
type recoveryHost struct {
	asked    []protocol.ReconcileRequest
	answer   protocol.ReconcileResponse
	sessions []protocol.BoundSession
	err      error

	foreignKeys bool // sessions are bound to keys that the broker does not have
}

func (h *recoveryHost) Reconcile(
	_ context.Context, _ broker.Target, req *protocol.ReconcileRequest,
) (*protocol.ReconcileResponse, error) {
	h.asked = append(h.asked, *req)
	if h.err != nil {
		return nil, h.err
	}
	return &h.answer, nil
}

func (h *recoveryHost) Sessions(
	_ context.Context, _ broker.Target, brokerID, after string, limit int,
) (*protocol.BoundSessionList, error) {
	if brokerID != "broker-1" || h.err != nil {
		return &protocol.BoundSessionList{}, h.err
	}
	page := &protocol.BoundSessionList{}
	for _, s := range h.sessions { // two a page
		if s.Keyed {
			s.Title, s.Owner = "", ""
		}
		if s.SessionID > after && len(page.Sessions) < min(2, limit) {
			page.Sessions = append(page.Sessions, s)
			page.NextAfter = s.SessionID
		}
	}
	return page, nil
}

// Session refuses if the broker's keys were lost.
func (h *recoveryHost) Session(_ context.Context, _ broker.Target, sessionID string) (*protocol.BoundSession, error) {
	for i := range h.sessions {
		if s := &h.sessions[i]; s.SessionID == sessionID && !h.foreignKeys {
			return s, nil
		}
	}
	return nil, &protocol.Error{
		Code: protocol.CodeBadGateway, Message: "The agent host refuses this broker", Relayed: protocol.CodeSessionKey,
	}
}

// recoveryKit is a kit with a registered host and what restores need.
type recoveryKit struct {
	*kit
	host        *recoveryHost
	hostID      string
	incarnation *broker.Incarnation
	recovery    *broker.Recovery
	adoption    *broker.Adoption
}

func newRecoveryKit(t *testing.T) *recoveryKit {
	k := &recoveryKit{kit: newKit(t), host: &recoveryHost{}}
	log := slog.New(slog.DiscardHandler)
	registered, err := k.hosts.Create(k.ctx, k.user, &broker.HostRequest{
		Name: "first", URL: "https://host.example", Password: "pw",
	})
	k.must(err)
	k.hostID = registered.ID
	k.incarnation = &broker.Incarnation{Store: k.store, Log: log}
	k.must(k.incarnation.Load(k.ctx))
	k.sessions.Incarnation, k.ingest.Incarnation = k.incarnation, k.incarnation
	k.recovery = &broker.Recovery{
		Store: k.store, Link: k.host, Targets: k.targets, Incarnation: k.incarnation, Reconciler: k.reconciler,
		BrokerID: "broker-1", Now: k.clock.Now, Log: log,
	}
	k.adoption = &broker.Adoption{
		Store: k.store, Updater: k.updater, Link: k.kit.host, Hosts: k.host, Sessions: k.sessions,
		Now: k.clock.Now, Log: log,
	}
	return k
}

func (k *recoveryKit) onHost() *protocol.Task {
	task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{Title: "Fix it", HostID: k.hostID})
	k.must(err)
	return task
}

func TestHostsGetTheIncarnation(t *testing.T) {
	t.Parallel()
	k := newRecoveryKit(t)
	k.recovery.Round(k.ctx)
	same(t, k.host.asked, `[{'brokerId':'broker-1','incarnation':'`+k.incarnation.ID()+`'}]`)
	task := k.onHost()
	k.checkIn(task.ID, "go")
	open := k.kit.host.lastOpen()
	if open.Incarnation != k.incarnation.ID() || open.Title != "Fix it" || open.Owner != k.user.UserID ||
		open.Turn.MessageID == "" {
		t.Errorf("the session was opened with %+v", open)
	}
}

func TestAReceiptThatTheDatabaseDoesNotHaveEndsTheIncarnation(t *testing.T) {
	t.Parallel()
	at := func(seq int64) protocol.Cursor { return protocol.Cursor{Epoch: 1, Seq: seq} }
	for _, c := range []struct {
		name    string
		pending int
		session string // "" is the task
		cursor  protocol.Cursor
		ends    bool
	}{
		{"the database has it", 0, "", at(1), false},
		{"the database went back", 0, "", at(2), true},
		{"the host is still comparing", 1, "", at(2), false},
		{"the task is not known", 0, "orphan", at(2), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newRecoveryKit(t)
			task := k.onHost()
			k.mustSend(task.ID, "", seqd(1, 1, "t1", text("one")))
			session := task.ID
			if c.session != "" {
				session = c.session
			}
			k.host.answer = protocol.ReconcileResponse{
				Pending: c.pending, Acknowledged: []protocol.SessionCursor{{SessionID: session, Cursor: c.cursor}},
			}
			before := k.incarnation.ID()
			k.recovery.Round(k.ctx)
			if ended := k.incarnation.ID() != before; ended != c.ends {
				t.Errorf("the incarnation ended: %t", ended)
			}
		})
	}
}

// A host may serve its events and have no route to compare them: the broker pulls from it.
func TestTasksOfAHostThatCannotCompareArePulledOnce(t *testing.T) {
	t.Parallel()
	k := newRecoveryKit(t)
	task := k.onHost()
	in := k.checkIn(task.ID, "go")
	j := &journal{epoch: 1, open: in.TurnID}
	k.kit.host.onEvents = j.page
	k.mustSend(task.ID, "", string(j.add(in.TurnID, text("first"))))
	j.add(in.TurnID, text("second"))
	k.host.err = protocol.Errorf(protocol.CodeNotFound, "Not found")
	k.recovery.Round(k.ctx)
	k.recovery.Round(k.ctx)
	ctx, cancel := context.WithCancel(k.ctx)
	done := make(chan error)
	go func() { done <- k.reconciler.Run(ctx) }()
	for len(k.messages(task.ID)) < 3 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	k.must(<-done)
}

func TestATasksOwnHostIsAskedUntilItHasCompared(t *testing.T) {
	t.Parallel()
	for name, notYet := range map[string]func(*recoveryHost){
		"it is comparing":    func(h *recoveryHost) { h.answer.Pending = 1 },
		"a gateway answers":  func(h *recoveryHost) { h.err = protocol.Errorf(protocol.CodeBadGateway, "not a host's") },
		"it does not answer": func(h *recoveryHost) { h.err = errors.New("timeout") },
	} {
		t.Run(name, func(t *testing.T) { testOwnHost(t, notYet) })
	}
}

func testOwnHost(t *testing.T, notYet func(*recoveryHost)) {
	k := newRecoveryKit(t)
	k.must(k.hosts.Delete(k.ctx, k.user, k.hostID, false))
	k.checkIn(k.task().ID, "go")
	k.checkIn(k.task().ID, "go") // of the same URL
	notYet(k.host)
	k.recovery.Round(k.ctx)
	k.recovery.Round(k.ctx) // too soon
	k.clock.Advance(time.Minute)
	k.host.answer.Pending, k.host.err = 0, nil
	k.recovery.Round(k.ctx)
	k.clock.Advance(time.Minute)
	k.recovery.Round(k.ctx) // it has compared
	if len(k.host.asked) != 2 {
		t.Errorf("asked %d times", len(k.host.asked))
	}
}

// prompted is an event of a turn whose check-in the broker lost.
func (k *recoveryKit) prompted(taskID string, prompts []protocol.TurnPrompt, bodies ...string) {
	k.t.Helper()
	events := inbound(k.t, bodies...)
	broker.AttachPrompts(events, prompts)
	_, err := k.ingest.Ingest(k.ctx, taskID, "", events)
	k.must(err)
}

func TestLostMessagesComeBackFromPrompts(t *testing.T) {
	t.Parallel()
	k := newRecoveryKit(t)
	task := k.onHost()
	first := k.checkIn(task.ID, "first")
	k.mustSend(task.ID, "", seqd(1, 1, first.TurnID, text("one")))
	at := start.Add(time.Hour)
	prompts := []protocol.TurnPrompt{
		{TurnID: first.TurnID, MessageID: first.MessageID, Text: "first", At: at},
		{TurnID: "t2", MessageID: "m2", Text: "second", At: at},
		{TurnID: "t3", Text: "third", Truncated: true, At: at},
		{TurnID: "t4", MessageID: "m4", Text: "of no event", At: at},
	}
	again := []string{
		seqd(1, 1, first.TurnID, text("one")), seqd(1, 2, first.TurnID, finishStop),
		seqd(1, 3, "t2", text("two")), seqd(1, 4, "t2", finishStop), seqd(1, 5, "t3", finishStop),
	}
	k.prompted(task.ID, prompts, again...)
	k.prompted(task.ID, prompts, again...)
	type shown struct{ Turn, Role, Text string }
	var got []shown
	for _, m := range k.messages(task.ID) {
		got = append(got, shown{m.TurnID, string(m.Role), m.Message})
		if m.TurnID == "t2" && m.Role == protocol.RoleUser &&
			(m.ID != "m2" || !m.CreatedAt.Equal(at) || m.Status != protocol.MessageSent) {
			t.Errorf("the message came back as %+v", m)
		}
	}
	if want := []shown{
		{first.TurnID, "USER", "first"},
		{first.TurnID, "ASSISTANT", "one"},
		{"t2", "USER", "second"},
		{"t2", "ASSISTANT", "two"},
		{"t3", "USER", "third…"},
	}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	// A client that repeats its check-in gets the same message.
	repeated, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{
		TaskID: task.ID, Message: "second", MessageID: "m2",
	})
	k.must(err)
	if repeated.TurnID != "t2" {
		t.Errorf("turn %q", repeated.TurnID)
	}
}

// The message was in the backup with an earlier turn, and was checked in again after it.
func TestAMessageThatWasCheckedInAgainMovesToItsTurn(t *testing.T) {
	t.Parallel()
	k := newRecoveryKit(t)
	task := k.onHost()
	in := k.checkIn(task.ID, "go")
	k.mustSend(task.ID, "", seqd(1, 1, in.TurnID, `'type':'finish','finishReason':'other','reason':'not-started'`))
	k.prompted(task.ID, []protocol.TurnPrompt{{TurnID: "again", MessageID: in.MessageID, Text: "go"}},
		seqd(1, 2, "again", text("done")))
	same(t, k.brief(task.ID).(map[string]any)["messages"], `[
		{'role':'USER','turn':'again','status':'SENT','text':'go'},{'role':'ASSISTANT','turn':'again','status':'SENT','text':'done'}]`)
}

// Both turns of a message that was checked in twice come back in one request, with the
// message new in it or already stored.
func TestAMessageComesBackOnceWithBothItsTurns(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]bool{"lost": false, "in the backup": true} {
		t.Run(name, func(t *testing.T) {
			k := newRecoveryKit(t)
			task := k.onHost()
			id := "m1"
			if stored {
				id = k.checkIn(task.ID, "go").MessageID
			}
			prompts := []protocol.TurnPrompt{
				{TurnID: "first", MessageID: id, Text: "go"}, {TurnID: "again", MessageID: id, Text: "go"},
			}
			k.prompted(task.ID, prompts,
				seqd(1, 1, "first", text("half")), seqd(1, 2, "first",
					`'type':'finish','finishReason':'other','reason':'host-restarted'`),
				seqd(1, 3, "again", text("whole")), seqd(1, 4, "again", finishStop))
			same(t, k.brief(task.ID).(map[string]any)["messages"], `[
				{'role':'USER','turn':'again','status':'SENT','text':'go'},
				{'role':'ASSISTANT','turn':'first','status':'SENT','text':'half'},
				{'role':'ASSISTANT','turn':'again','status':'SENT','text':'whole'}]`)
		})
	}
}

// The database was restored to a position before the host's last change of epoch.
func TestAPullGoesThroughAllEpochs(t *testing.T) {
	t.Parallel()
	k := newRecoveryKit(t)
	task := k.onHost()
	in := k.checkIn(task.ID, "go")
	first, second := &journal{epoch: 1}, &journal{epoch: 2, open: "t2"}
	k.mustSend(task.ID, "", string(first.add(in.TurnID, text("one"))))
	first.add(in.TurnID, text("two"))
	first.add(in.TurnID, finishStop)
	second.add("t2", text("three"))
	k.kit.host.onEvents = func(id string, epoch, after int64, limit int) (*protocol.EventsResponse, error) {
		j := first
		if epoch > 1 || after >= int64(len(first.events)) {
			j = second
		}
		page, err := j.page(id, epoch, after, limit)
		page.CurrentEpoch, page.OpenTurn = 2, "t2"
		page.Prompts = []protocol.TurnPrompt{{TurnID: "t2", Text: "more"}}
		return page, err
	}
	k.must(k.reconciler.Task(k.ctx, task.ID))
	var texts []string
	for _, m := range k.messages(task.ID) {
		texts = append(texts, m.Message)
	}
	if want := []string{"go", "one", "two", "more", "three"}; !slices.Equal(texts, want) {
		t.Errorf("got %q", texts)
	}
}

// The renewal of an adopted or restored task names the position to rewind to.
func TestARenewalNamesTheCursor(t *testing.T) {
	t.Parallel()
	k := newRecoveryKit(t)
	task := k.task()
	k.checkIn(task.ID, "go")
	k.mustSend(task.ID, "", seqd(1, 1, "t1", text("one")))
	hook, err := url.Parse(k.kit.host.lastOpen().WebhookURL)
	k.must(err)
	renewed, err := k.sessions.Renew(k.ctx, hook.Query().Get("token"), "agent-password")
	k.must(err)
	if renewed.Cursor == nil || *renewed.Cursor != (protocol.Cursor{Epoch: 1, Seq: 1}) {
		t.Errorf("got %v", renewed.Cursor)
	}
}
