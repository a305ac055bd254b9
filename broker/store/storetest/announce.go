package storetest

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// announced returns a new message of a task and its turn, as a check-in makes them.
func announced(task *broker.Task, id string) (*broker.Message, *broker.Turn) {
	m := &broker.Message{BodyHash: "hash", Message: protocol.Message{
		ID: id, TaskID: task.ID, TurnID: "turn-" + id, Seq: 99, Rev: 99, Role: protocol.RoleUser,
		Status: protocol.MessageSending, Message: "it's ?",
		Artifacts: []protocol.Artifact{{ID: "a", Type: "DIFF", Content: []byte(`{"x":"<&>"}`)}}, CreatedAt: now,
	}}
	t := &broker.Turn{ID: m.TurnID, TaskID: task.ID, MessageID: id, State: broker.TurnAnnounced, AnnouncedAt: now}
	return m, t
}

// testAnnounce checks that Announce writes the same rows as Apply, with the numbers that the
// task has at that moment.
func testAnnounce(t *testing.T, s suite) {
	if !s.store.Announces() {
		return // there is no other way than Apply
	}
	owner, other := s.user(), s.user()
	task := s.task(owner)
	s.must(s.apply(task.ID, func(b *broker.Batch) { b.Task.Rev, b.Task.LastSeq, b.Task.Title = 7, 3, "kept" }))
	m, turn := announced(task, "m1")
	rev, err := s.store.Announce(s.ctx, owner, m, turn)
	s.must(err)
	got, err := s.store.Message(s.ctx, task.ID, "m1")
	s.must(err)
	want := *m
	want.Seq, want.Rev = 4, 8
	if rev != 8 || !reflect.DeepEqual(*got, want) {
		t.Errorf("rev %d\n got %+v\nwant %+v", rev, *got, want)
	}
	turns, err := s.store.Turns(s.ctx, task.ID, []string{turn.ID})
	if s.must(err); len(turns) != 1 || !reflect.DeepEqual(turns[0], *turn) {
		t.Errorf("%+v", turns)
	}
	after, err := s.store.Task(s.ctx, owner, task.ID)
	s.must(err)
	if after.Rev != 8 || after.LastSeq != 4 || after.Title != "kept" || !after.LastActivityAt.Equal(now) ||
		!after.ChangedAt.Equal(now) {
		t.Errorf("%+v", after)
	}
	changes, err := s.store.ChangeRefs(s.ctx, task.ID, 7, 10)
	if s.must(err); fmt.Sprint(changes) != fmt.Sprint([]broker.ChangeRef{{Rev: 8, Kind: broker.ChangeMessage, Seq: 4}}) {
		t.Errorf("%+v", changes)
	}
	s.notAnnounced(owner, task, "m1")
	s.notAnnounced(other, task, "m2")
	s.announceParallel(owner, task)
	s.must(s.apply(task.ID, func(b *broker.Batch) { b.Task.DeletedAt = &now }))
	s.notAnnounced(owner, task, "m3")
}

func (s suite) notAnnounced(userID string, task *broker.Task, id string) {
	s.Helper()
	before, err := s.store.AnyTask(s.ctx, task.ID)
	s.must(err)
	m, turn := announced(task, id)
	if rev, err := s.store.Announce(s.ctx, userID, m, turn); rev != 0 || err != nil {
		s.Errorf("announced %s: %d, %v", id, rev, err)
	}
	after, err := s.store.AnyTask(s.ctx, task.ID)
	if s.must(err); after.Rev != before.Rev || after.LastSeq != before.LastSeq {
		s.Errorf("%s changed the task: %+v", id, after)
	}
}

// announceParallel checks that check-ins at once get different numbers.
func (s suite) announceParallel(owner string, task *broker.Task) {
	const n = 8
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			m, turn := announced(task, fmt.Sprint("parallel-", i))
			if rev, err := s.store.Announce(s.ctx, owner, m, turn); rev == 0 || err != nil {
				s.Errorf("%d, %v", rev, err)
			}
		})
	}
	group.Wait()
	after, err := s.store.Task(s.ctx, owner, task.ID)
	s.must(err)
	found, err := s.store.Messages(s.ctx, task.ID, broker.MessageQuery{Limit: 100})
	if s.must(err); after.Rev != 8+n || after.LastSeq != 4+n || len(found) != 1+n {
		s.Errorf("rev %d, seq %d, %d messages", after.Rev, after.LastSeq, len(found))
	}
}

func testOpenable(t *testing.T, s suite) {
	owner, other := s.user(), s.user()
	until := now.Add(time.Hour)
	h := &broker.Host{
		ID: protocol.NewID(), Name: "h", URL: "https://h.example", Health: broker.HostUnknown, Reach: protocol.ReachRelay,
		CreatedAt: now, Password: seal.NewSecret("new"), PreviousPassword: seal.NewSecret("old"), PreviousUntil: &until,
	}
	s.must(s.store.CreateHost(s.ctx, h))
	hosted, own := s.task(owner), s.task(owner)
	s.must(s.apply(hosted.ID, func(b *broker.Batch) { b.Task.HostID = h.ID }))
	s.must(s.store.SetTaskPassword(s.ctx, own.ID, seal.NewSecret("first"), until))
	s.must(s.store.SetTaskPassword(s.ctx, own.ID, seal.NewSecret("second"), until))

	got, err := s.store.OpenableTask(s.ctx, owner, hosted.ID, now)
	s.must(err)
	want, err := s.store.Task(s.ctx, owner, hosted.ID)
	s.must(err)
	if !reflect.DeepEqual(got.Task, *want) || got.WebhookSecret.Reveal() != "webhook-secret" || len(got.Passwords) > 0 {
		t.Errorf("%+v\nwant %+v", got.Task, *want)
	}
	if g := got.Host; g.ID != h.ID || g.URL != h.URL || g.Reach != h.Reach || g.Password.Reveal() != "new" ||
		g.PreviousPassword.Reveal() != "old" || !g.PreviousUntil.Equal(until) {
		t.Errorf("%+v", g)
	}
	for at, want := range map[time.Time]string{now: "second first ", until: "second "} {
		got, err := s.store.OpenableTask(s.ctx, owner, own.ID, at)
		s.must(err)
		passwords := ""
		for _, p := range got.Passwords {
			passwords += p.Reveal() + " "
		}
		if got.Host != nil || passwords != want {
			t.Errorf("at %s: passwords %q, want %q; %+v", at, passwords, want, got.Host)
		}
	}
	_, err = s.store.OpenableTask(s.ctx, other, own.ID, now)
	s.code(err, protocol.CodeNotFound)
	s.must(s.apply(own.ID, func(b *broker.Batch) { b.Task.DeletedAt = &now }))
	_, err = s.store.OpenableTask(context.WithoutCancel(s.ctx), owner, own.ID, now)
	s.code(err, protocol.CodeNotFound)
}
