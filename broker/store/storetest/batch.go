package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

func testSecrets(t *testing.T, s suite) {
	task := s.task(s.user())
	secret, err := s.store.WebhookSecret(s.ctx, task.ID)
	s.must(err)
	if secret.Reveal() != "webhook-secret" {
		t.Error("another secret")
	}
	_, err = s.store.WebhookSecret(s.ctx, "none")
	s.code(err, protocol.CodeNotFound)
	_, err = s.store.WebhookKeys(s.ctx, "none", now)
	s.code(err, protocol.CodeNotFound)
	keys := func(at time.Time) string {
		found, err := s.store.WebhookKeys(s.ctx, task.ID, at)
		s.must(err)
		if found.Secret.Reveal() != "webhook-secret" {
			t.Error("another secret among the keys")
		}
		var all []string
		for _, p := range found.Passwords {
			all = append(all, p.Reveal())
		}
		return fmt.Sprint(found.Signs, all)
	}
	if got := keys(now); got != "false []" {
		t.Errorf("a host that does not sign: %s", got)
	}
	s.must(s.apply(task.ID, func(b *broker.Batch) { b.Task.HostSigns = true }))
	passwords := func(at time.Time) string {
		list, err := s.store.TaskPasswords(s.ctx, task.ID, at)
		s.must(err)
		var all []string
		for _, p := range list {
			all = append(all, p.Reveal())
		}
		return fmt.Sprint(all)
	}
	until := now.Add(time.Hour)
	for _, step := range []struct{ set, want, later string }{
		{"one", "[one]", "[one]"}, {"two", "[two one]", "[two]"}, {"", "[]", "[]"},
	} {
		s.must(s.store.SetTaskPassword(s.ctx, task.ID, seal.NewSecret(step.set), until))
		if got := keys(now); got != "true "+step.want {
			t.Errorf("keys %s, want %s", got, step.want)
		}
		if got := passwords(now); got != step.want {
			t.Errorf("after %q: %s", step.set, got)
		}
		if got := passwords(until); got != step.later {
			t.Errorf("an hour after %q: %s", step.set, got)
		}
	}
}

func testBatch(t *testing.T, s suite) {
	task := s.task(s.user())
	message := func(id string, seq int64) broker.Message {
		return broker.Message{ToolCallID: "call", Phase: broker.PhaseCall, BodyHash: "hash", Message: protocol.Message{
			ID: id, TaskID: task.ID, Seq: seq, Rev: seq, TurnID: "t", Role: protocol.RoleUser, Status: protocol.MessageSending,
			Message: "é\n<b>?", Artifacts: []protocol.Artifact{{ID: "a", Type: "A", Content: json.RawMessage(`{"x":"<&>"}`)}},
			CreatedAt: now,
		}}
	}
	yes := true
	question := broker.Interaction{
		ID: "q", TaskID: task.ID, TurnID: "t", State: protocol.InteractionOpen, Kind: protocol.KindAsk, Prompt: "?",
		Options: []string{"a", "b"}, Level: "WARN", Warning: "careful", Args: json.RawMessage(`{"n":1}`), CreatedAt: now,
	}
	s.must(s.apply(task.ID, func(b *broker.Batch) {
		b.Task.Rev, b.Task.LastSeq = 3, 2
		b.NewMessages = []broker.Message{message("m1", 1), message("m2", 2)}
		b.Turns = []broker.Turn{{ID: "t", TaskID: task.ID, MessageID: "m1", State: broker.TurnOpen, AnnouncedAt: now}}
		b.Interactions = []broker.Interaction{question}
		b.Changes = []broker.ChangeRef{
			{Rev: 1, Kind: broker.ChangeMessage, Seq: 1},
			{Rev: 2, Kind: broker.ChangeMessage, Seq: 2},
			{Rev: 3, Kind: broker.ChangeInteraction, RefID: "q"},
		}
		b.Events = []broker.StoredEvent{
			{TaskID: task.ID, EventID: "e1", Epoch: 1, Seq: 1, Body: []byte(`{"b":"?"}`), ReceivedAt: now},
			{TaskID: task.ID, EventID: "e2", Body: []byte(`{}`), Late: true, ReceivedAt: now},
		}
	}))
	changed := message("m1", 1)
	changed.Rev, changed.Status, changed.TurnID, changed.Phase, changed.Artifacts = 4,
		protocol.MessageSent, "t2", broker.PhaseBoth, nil
	question.State, question.Answer = protocol.InteractionResolved, &protocol.InteractionAnswer{Approved: &yes}
	s.must(s.apply(task.ID, func(b *broker.Batch) {
		b.Task.Rev = 4
		b.ChangedMessages = []broker.Message{changed}
		b.Turns = []broker.Turn{
			{
				ID: "t", TaskID: task.ID, State: broker.TurnClosed, FinishReason: "stop", Usage: []byte(`{"u":1}`),
				AnnouncedAt: now, FinishedAt: &now,
			},
		}
		b.Interactions = []broker.Interaction{question}
		b.Changes = []broker.ChangeRef{{Rev: 4, Kind: broker.ChangeMessage, Seq: 1}}
	}))
	s.readBatch(t, task.ID)
}

// readBatch checks what testBatch wrote.
func (s suite) readBatch(t *testing.T, taskID string) {
	got, err := s.store.Message(s.ctx, taskID, "m1")
	s.must(err)
	if got.Rev != 4 || got.Status != protocol.MessageSent || got.TurnID != "t2" || got.Phase != broker.PhaseBoth ||
		got.Artifacts == nil || len(got.Artifacts) != 0 || got.Message.Message != "é\n<b>?" || got.BodyHash != "hash" {
		t.Errorf("%+v", got)
	}
	if got, err = s.store.TurnMessage(s.ctx, taskID, "t"); err != nil || got.ID != "m2" ||
		string(got.Artifacts[0].Content) != `{"x":"<&>"}` {
		t.Errorf("%+v, %v", got, err)
	}
	turns, err := s.store.Turns(s.ctx, taskID, []string{"t", "none"})
	s.must(err)
	if len(turns) != 1 || turns[0].State != broker.TurnClosed || turns[0].MessageID != "m1" ||
		string(turns[0].Usage) != `{"u":1}` {
		t.Errorf("%+v", turns)
	}
	found, err := s.store.TaskInteractions(s.ctx, taskID, []string{"q"})
	s.must(err)
	if len(found) != 1 || found[0].TaskTitle != "x" || !*found[0].Answer.Approved ||
		fmt.Sprint(found[0].Options) != "[a b]" || string(found[0].Args) != `{"n":1}` {
		t.Errorf("%+v", found)
	}
	for turn, want := range map[string]int{"t": 1, "t2": 0} {
		ofTurn, err := s.store.TurnInteractions(s.ctx, taskID, []string{turn})
		s.must(err)
		if len(ofTurn) != want {
			t.Errorf("questions of %s: %+v", turn, ofTurn)
		}
	}
	known, err := s.store.KnownEvents(s.ctx, taskID, []string{"e1", "e2", "e3"})
	s.must(err)
	if len(known) != 2 || string(known[0].Body) != `{"b":"?"}` || known[0].Late || !known[1].Late {
		t.Errorf("%+v", known)
	}
	refs, err := s.store.ChangeRefs(s.ctx, taskID, 2, 10)
	s.must(err)
	if fmt.Sprint(refs) != "[{3 interaction 0 q} {4 message 1 }]" {
		t.Errorf("%v", refs)
	}
	tools, err := s.store.ToolMessages(s.ctx, taskID, []string{"call"})
	s.must(err)
	if len(tools) != 2 || tools[0].ID != "m1" {
		t.Errorf("%+v", tools)
	}
}

func testTaken(t *testing.T, s suite) {
	task := s.task(s.user())
	store := func(e broker.StoredEvent) error {
		e.TaskID, e.ReceivedAt = task.ID, now
		return s.apply(task.ID, func(b *broker.Batch) {
			b.Task.Rev++
			b.Events = []broker.StoredEvent{e}
		})
	}
	s.must(store(broker.StoredEvent{EventID: "a", Epoch: 1, Seq: 1}))
	for rule, e := range map[string]broker.StoredEvent{
		"an event id is unique in its task": {EventID: "a", Epoch: 1, Seq: 2},
		"epoch and seq are too":             {EventID: "b", Epoch: 1, Seq: 1},
	} {
		if err := store(e); !errors.Is(err, broker.ErrTaken) {
			t.Errorf("%s: %v", rule, err)
		}
	}
	// a late event does not move the cursor
	s.must(store(broker.StoredEvent{EventID: "late", Epoch: 1, Seq: 1, Late: true}))
	s.must(store(broker.StoredEvent{EventID: "basic-1"}))
	s.must(store(broker.StoredEvent{EventID: "basic-2"}))
	got, err := s.store.AnyTask(s.ctx, task.ID)
	s.must(err)
	if got.Rev != 4 {
		t.Errorf("rev %d: a refused batch left a trace", got.Rev)
	}
}

// testMoved checks that an event gets a new position with its row, and that positions
// stay unique. New events of the same batch may take the next positions.
func testMoved(t *testing.T, s suite) {
	task := s.task(s.user())
	event := func(id string, epoch, seq int64) broker.StoredEvent {
		return broker.StoredEvent{
			TaskID: task.ID, EventID: id, Epoch: epoch, Seq: seq, TurnID: "t",
			Body: fmt.Appendf(nil, `{"at":[%d,%d]}`, epoch, seq), ReceivedAt: now,
		}
	}
	late := event("late", 1, 1)
	late.Late = true
	s.must(s.apply(task.ID, func(b *broker.Batch) {
		b.Events = []broker.StoredEvent{
			event("a", 1, 1), event("b", 1, 2), late, {TaskID: task.ID, EventID: "basic", ReceivedAt: now},
		}
	}))
	s.must(s.apply(task.ID, func(b *broker.Batch) {
		b.MovedEvents = []broker.StoredEvent{event("b", 2, 1), event("late", 2, 2)}
		b.Events = []broker.StoredEvent{event("c", 2, 3)}
	}))
	err := s.apply(task.ID, func(b *broker.Batch) { b.MovedEvents = []broker.StoredEvent{event("c", 1, 1)} })
	if !errors.Is(err, broker.ErrTaken) {
		t.Errorf("a position that is taken: %v", err)
	}
	rows, err := s.store.PositionedEvents(s.ctx, task.ID, protocol.Cursor{}, 10)
	s.must(err)
	got := ""
	for _, e := range rows {
		got += fmt.Sprintf("%s %d/%d %s, ", e.EventID, e.Epoch, e.Seq, e.Body)
	}
	if got != `a 1/1 {"at":[1,1]}, b 2/1 {"at":[2,1]}, late 2/2 {"at":[2,2]}, c 2/3 {"at":[2,3]}, ` {
		t.Error(got)
	}
	known, err := s.store.KnownEvents(s.ctx, task.ID, []string{"b", "basic"})
	s.must(err)
	for _, e := range known {
		if want := map[string]int64{"b": 2, "basic": 0}[e.EventID]; e.Epoch != want || e.Late {
			t.Errorf("%+v", e)
		}
	}
}

// testLocking checks that concurrent writers leave no gap in the revs.
func testLocking(t *testing.T, s suite) {
	task := s.task(s.user())
	const writers, each = 4, 10
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				err := s.apply(task.ID, func(b *broker.Batch) {
					b.Task.Rev++
					b.Changes = []broker.ChangeRef{{Rev: b.Task.Rev, Kind: broker.ChangeTask}}
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	revs, err := s.store.Revs(s.ctx, []string{task.ID})
	s.must(err)
	refs, err := s.store.ChangeRefs(s.ctx, task.ID, 0, 1000)
	s.must(err)
	if revs[task.ID] != writers*each || len(refs) != writers*each {
		t.Errorf("rev %d, %d changes", revs[task.ID], len(refs))
	}
}

func testDue(t *testing.T, s suite) {
	user := s.user()
	add := func(state broker.TurnState, events bool, last *time.Time) string {
		task := s.task(user)
		s.must(s.apply(task.ID, func(b *broker.Batch) {
			b.Task.HostEvents, b.Task.LastEventAt, b.Task.AgentURL = events, last, "https://a.example"
			b.Turns = []broker.Turn{{ID: "t", TaskID: task.ID, State: state, AnnouncedAt: now}}
		}))
		return task.ID
	}
	early, late := now.Add(-time.Minute), now.Add(time.Minute)
	silent := add(broker.TurnOpen, true, &early)
	never := add(broker.TurnOpen, true, nil)
	add(broker.TurnOpen, true, &late)
	ahead := now.Add(time.Hour)
	stale := add(broker.TurnOpen, true, &ahead) // stored before the clock went back
	future := now.Add(2 * time.Hour)
	add(broker.TurnClosed, true, &early)
	announced := add(broker.TurnAnnounced, true, nil)
	s.must(s.apply(announced, func(b *broker.Batch) { // a second turn
		b.Turns = []broker.Turn{{ID: "u", TaskID: announced, State: broker.TurnAnnounced, AnnouncedAt: now}}
	}))
	basic := add(broker.TurnOpen, false, &early)
	due := func(events bool, silent, announced time.Time) map[string]string {
		when := broker.Overdue{Silent: silent, Announced: announced, Future: future}
		all := s.dueTasks(events, when, 100)
		for _, limit := range []int{1, 2} {
			if got := s.dueTasks(events, when, limit); !maps.Equal(got, all) {
				t.Errorf("pages of %d have %v, want %v", limit, got, all)
			}
		}
		return all
	}
	want := fmt.Sprint(map[string]string{silent: "https://a.example", never: "https://a.example"})
	if got := due(true, now, now.Add(-time.Second)); fmt.Sprint(got) != want {
		t.Errorf("%v\n%s", got, want)
	}
	if got := due(true, now, now); got[announced] == "" || len(got) != 3 {
		t.Errorf("%v", got)
	}
	if got := due(false, now, now); got[basic] == "" || len(got) != 1 {
		t.Errorf("%v", got)
	}
	future = now.Add(2 * time.Minute)
	if got := due(true, now, now); got[stale] == "" || len(got) != 4 {
		t.Errorf("%v", got)
	}
}

func testSilent(t *testing.T, s suite) {
	user := s.user()
	early := now.Add(-time.Minute)
	add := func(change func(b *broker.Batch)) string {
		task := s.task(user)
		s.must(s.apply(task.ID, func(b *broker.Batch) {
			b.Task.AgentStatus, b.Task.OpenTurn, b.Task.LastEventAt = protocol.StatusBusy, "t", &early
			b.Turns = []broker.Turn{{ID: "t", TaskID: task.ID, State: broker.TurnOpen, AnnouncedAt: early}}
			change(b)
		}))
		return task.ID
	}
	silent := []string{add(func(*broker.Batch) {}), add(func(*broker.Batch) {})}
	slices.Sort(silent)
	for _, change := range []func(b *broker.Batch){
		func(b *broker.Batch) { b.Task.HostEvents = true },
		func(b *broker.Batch) { b.Task.AgentStatus = protocol.StatusIdle },
		func(b *broker.Batch) { b.Task.OpenQuestions = 1 },
		func(b *broker.Batch) { b.Task.LastEventAt = nil },
		func(b *broker.Batch) { b.Task.LastEventAt = &now },
		func(b *broker.Batch) { b.Task.DeletedAt = &now },
		func(b *broker.Batch) { b.Task.OpenTurn = "u" },
		func(b *broker.Batch) { b.Turns[0].State = broker.TurnClosed },
		func(b *broker.Batch) { b.Turns[0].AnnouncedAt = now }, // the event was of an earlier turn
	} {
		add(change)
	}
	for _, limit := range []int{1, 3, 100} {
		var all []string
		for after := ""; ; {
			page, last, err := s.store.SilentTasks(s.ctx, early, after, limit)
			s.must(err)
			all = append(all, page...)
			if after = last; after == "" {
				break
			}
		}
		if !slices.Equal(all, silent) {
			t.Errorf("pages of %d have %q, want %q", limit, all, silent)
		}
	}
}

// dueTasks reads pages of due tasks, and returns their hosts by their ids. None may come twice.
func (s suite) dueTasks(events bool, when broker.Overdue, limit int) map[string]string {
	s.Helper()
	all := map[string]string{}
	for after := ""; ; {
		page, last, err := s.store.DueTasks(s.ctx, events, when, after, limit)
		s.must(err)
		for _, d := range page {
			if _, known := all[d.ID]; known {
				s.Errorf("%s comes twice", d.ID)
			}
			all[d.ID] = d.Host
		}
		if after = last; after == "" {
			return all
		}
	}
}

func testPurge(t *testing.T, s suite) {
	user := s.user()
	kept, gone := s.task(user), s.task(user)
	for i, task := range []*broker.Task{kept, gone} {
		deleted := now.Add(-time.Duration(i) * time.Hour)
		s.must(s.apply(task.ID, func(b *broker.Batch) {
			b.Task.DeletedAt = &deleted
			b.Events = []broker.StoredEvent{{TaskID: task.ID, EventID: "e", ReceivedAt: now}}
			b.Turns = []broker.Turn{{ID: "t", TaskID: task.ID, State: broker.TurnOpen, AnnouncedAt: now}}
		}))
		s.must(s.store.AddRefused(s.ctx, &broker.RefusedEvent{ID: protocol.NewID(), TaskID: task.ID, At: now}))
	}
	n, err := s.store.PurgeTasks(s.ctx, now)
	s.must(err)
	if n != 1 {
		t.Errorf("%d purged", n)
	}
	_, err = s.store.AnyTask(s.ctx, gone.ID)
	s.code(err, protocol.CodeNotFound)
	if events, err := s.store.KnownEvents(s.ctx, gone.ID, []string{"e"}); err != nil || len(events) != 0 {
		t.Errorf("%v, %v", events, err)
	}
	_, err = s.store.AnyTask(s.ctx, kept.ID)
	s.must(err)
	s.must(s.store.Read(s.ctx, func(ctx context.Context) error {
		_, err := s.store.AnyTask(ctx, kept.ID)
		return err
	}))
}
