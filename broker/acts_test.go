package broker_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// actHost is a ShipLink that counts the acts which arrive, as a host does that answers a copy from its memory.
type actHost struct {
	shipper
	mu   sync.Mutex
	seen map[string]time.Time // by id
}

func (h *actHost) Push(
	ctx context.Context, t broker.Target, id string, req *protocol.PushRequest, own *broker.ForgeToken,
) (*protocol.PushResponse, error) {
	act := broker.ActSent(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen == nil {
		h.seen = map[string]time.Time{}
	}
	if first, known := h.seen[act.ID]; known && !first.Equal(act.SeenAt) {
		return nil, protocol.Errorf(protocol.CodeInternal, "act %s was first seen at %v and at %v", act.ID, first, act.SeenAt)
	}
	h.seen[act.ID] = act.SeenAt
	return h.shipper.Push(ctx, t, id, req, own)
}

func TestAnActOfAUserIsOneForTheHostAndTheAuditLog(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	link := &actHost{}
	ships := &broker.Ships{Sessions: k.sessions, Users: k.store, Link: link}
	task := k.task()
	by := broker.WithActor(k.ctx, protocol.AuditActor{Kind: protocol.AuditByUser, ID: k.user.UserID})
	push := func(key, replaces string) error {
		_, err := ships.Push(broker.WithActKey(by, key), k.user.UserID, task.ID, &protocol.PushRequest{Replaces: replaces})
		return err
	}
	want := func(step string, asked, acts int) {
		t.Helper()
		if len(link.own) != asked || len(link.seen) != acts {
			t.Fatalf("%s: the host was asked %d times for %d acts, want %d for %d", step, len(link.own), len(link.seen), asked, acts)
		}
	}
	link.fail = protocol.Errorf(protocol.CodeBadGateway, "x")
	if err := push("k1", ""); protocol.CodeOf(err) != protocol.CodeBadGateway {
		t.Errorf("got %v", err)
	}
	link.fail = nil
	k.clock.Advance(time.Minute)
	k.must(push("k1", ""))
	want("a second attempt", 2, 1)
	in := k.checkIn(task.ID, "newer work")
	k.mustSend(task.ID, in.TurnID, seqd(1, 1, in.TurnID, `'type':'text','id':'a','text':'working'`))
	for _, later := range []time.Duration{time.Second, time.Minute, time.Hour, 6 * 24 * time.Hour} {
		k.clock.Advance(later)
		k.must(push("k1", ""))
		want("a copy after "+later.String(), 2, 1)
	}
	if err := push("k1", strings.Repeat("a", 40)); protocol.CodeOf(err) != protocol.CodeConflict {
		t.Errorf("another act of the same key: %v", err)
	}
	k.mustSend(task.ID, "", seqd(1, 2, in.TurnID, finishStop))
	k.must(push("k2", ""))
	k.must(push("", ""))
	k.must(push("", ""))
	want("other acts", 5, 4)
	pushed := `task.pushed by user ada on task ` + task.ID + ` {"branch":"bellhop/1` + "\uFFFD" +
		`","commit":"c0ffee","remote":"https://example.org/shop.git"}`
	k.wantAudit(pushed, pushed, pushed, pushed)
	k.clock.Advance(25 * time.Hour)
	k.must(push("k3", ""))
	want("a week later", 6, 5)
	kept := &broker.ActRow{TaskID: task.ID, ID: "k1", Digest: []byte("x"), SeenAt: k.clock.Now()}
	k.upkeep.Prune(k.ctx)
	k.must(k.store.BeginAct(k.ctx, kept))
	if kept.Answer != "" {
		t.Errorf("an act is kept for more than a week: %+v", kept)
	}
}

func TestCopiesOfAnActAtOnceAreOneEntry(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	link := &actHost{}
	ships := &broker.Ships{Sessions: k.sessions, Users: k.store, Link: link}
	task := k.task()
	ctx := broker.WithActKey(broker.WithActor(k.ctx, protocol.AuditActor{Kind: protocol.AuditByUser, ID: k.user.UserID}), "k1")
	var copies sync.WaitGroup
	for range 8 {
		copies.Go(func() {
			if _, err := ships.Push(ctx, k.user.UserID, task.ID, &protocol.PushRequest{}); err != nil {
				t.Error(err)
			}
		})
	}
	copies.Wait()
	if len(link.seen) != 1 {
		t.Errorf("%d acts", len(link.seen))
	}
	k.wantAudit(`task.pushed by user ada on task ` + task.ID + ` {"branch":"bellhop/1` + "\uFFFD" +
		`","commit":"c0ffee","remote":"https://example.org/shop.git"}`)
}

func TestARestartIsDoneOnce(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	k.checkIn(task.ID, "hi")
	for range 3 {
		done, err := k.sessions.Restart(broker.WithActKey(k.ctx, "k1"), k.user.UserID, task.ID)
		k.must(err)
		same(t, done, `{'success':true,'sessionId':'`+task.ID+`','endedTurn':'turn-1'}`)
	}
	if k.host.restarts != 1 {
		t.Errorf("%d restarts", k.host.restarts)
	}
}
