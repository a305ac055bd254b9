package agenthost_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

func TestOpenAnswersWhereTheSessionStands(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	open := func() *protocol.OpenSessionResponse {
		return r.openSession(&protocol.OpenSessionRequest{
			SessionID: "s1", WebhookURL: r.broker.url(), BrokerID: "broker-1", NamedAnswers: true, Cursor: r.broker.cursorOf("s1"), Attach: true,
		})
	}
	got := open()
	if got.OpenTurn != "" || got.StreamCursor != nil || got.Status != protocol.StatusNone ||
		*got.Cursor != (protocol.Cursor{Epoch: 1}) ||
		got.StreamURL != "http://host.example/stream/s1" ||
		!slices.Equal(got.Capabilities,
			[]string{"events", "resume", "interactions", "session-keys", "credentials", "named-answers", "webhook-signatures"}) {
		t.Errorf("new session: %+v", got)
	}
	gate := make(chan struct{})
	stream := r.startNew("s1", "t1", writeText("hi"), wait(gate))
	r.readN(stream, 2)
	got = open()
	if got.OpenTurn != "t1" || got.StreamCursor == nil || *got.StreamCursor != "1-0" || got.Status != protocol.StatusBusy {
		t.Errorf("busy session: %+v", got)
	}
	resumed, err := r.host.Attach(t.Context(), "s1", *got.StreamCursor, false)
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, "from the stream cursor", types(r.readN(resumed, 3)), []string{"data-resume", "text-start", "text-delta"})
	resumed.Close()
	close(gate)
	r.read(stream)

	_, err = r.host.Open(t.Context(),
		&protocol.OpenSessionRequest{SessionID: "s1", WebhookURL: r.broker.url(), BrokerID: "broker-2"}, agenthost.Keys{})
	r.wantCode("another broker", err, protocol.CodeForeignBroker)
	for name, req := range map[string]*protocol.OpenSessionRequest{
		"no session id":     {WebhookURL: r.broker.url()},
		"no webhook":        {SessionID: "s1"},
		"a webhook by file": {SessionID: "s1", WebhookURL: "file:///etc/passwd"},
		"an unknown agent":  {SessionID: "s1", WebhookURL: r.broker.url(), Agent: "hal"},
		"a turn without id": {SessionID: "s1", WebhookURL: r.broker.url(), Turn: &protocol.AnnouncedTurn{}},
	} {
		_, err := r.host.Open(t.Context(), req, agenthost.Keys{})
		r.wantCode(name, err, protocol.CodeInvalid)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.Now = func() time.Time { return now } }
	r.start()
	a := r.openSession(&protocol.OpenSessionRequest{SessionID: "a", WebhookURL: r.broker.url(), Attach: true})
	r.openSession(&protocol.OpenSessionRequest{SessionID: "b", WebhookURL: r.broker.url(), Attach: true})
	for _, c := range []struct {
		name, session, token string
		code                 protocol.Code
	}{
		{"its own session", "a", a.Token, ""},
		{"another session", "b", a.Token, protocol.CodeUnauthorized},
		{"no such session", "c", a.Token, protocol.CodeNotFound},
		{"no token", "a", "", protocol.CodeUnauthorized},
		{"a made-up token", "a", "bhs_AAAA", protocol.CodeUnauthorized},
	} {
		_, err := r.host.Authorize(t.Context(), c.session, c.token)
		r.wantCode(c.name, err, c.code)
	}
	now = now.Add(10*time.Minute - time.Second)
	r.grant("a", a.Token)
	now = now.Add(time.Second)
	_, err := r.host.Authorize(t.Context(), "a", a.Token)
	r.wantCode("after ten minutes", err, protocol.CodeUnauthorized)
}

func TestRevokeDropsTokensAndCutsStreams(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	gate := make(chan struct{})
	r.agent.script(writeText("x"), wait(gate), writeText("y"))
	res := r.openSession(&protocol.OpenSessionRequest{
		SessionID: "s1", WebhookURL: r.broker.url(), Cursor: &protocol.Cursor{}, Turn: &protocol.AnnouncedTurn{ID: "t1"},
	})
	stream := r.startGrant(r.grant("s1", res.Token))
	follow, err := r.host.Attach(t.Context(), "s1", "", true)
	if err != nil {
		t.Fatal(err)
	}
	r.readN(stream, 2)
	if err := r.host.Revoke(t.Context(), "s1"); err != nil {
		t.Fatal(err)
	}
	r.read(stream)
	r.read(follow)
	_, err = r.host.Authorize(t.Context(), "s1", res.Token)
	r.wantCode("a revoked token", err, protocol.CodeUnauthorized)
	later, err := r.host.Attach(t.Context(), "s1", "", false)
	if err != nil {
		t.Fatal(err)
	}
	close(gate)
	if got := types(r.read(later)); got[len(got)-1] != "finish" {
		t.Errorf("the turn goes on: %q", got)
	}
}

func TestDeleteEndsEverything(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	stream := r.startNew("s1", "t1", writeText("x"), forever)
	r.readN(stream, 2)
	if _, err := r.host.Delete(t.Context(), "s1", ""); err != nil {
		t.Fatal(err)
	}
	if got := types(r.read(stream)); !slices.Equal(got, []string{"text-end", "abort"}) {
		t.Errorf("the stream's end: %q", got)
	}
	_, err := r.host.Attach(t.Context(), "s1", "", false)
	r.wantCode("attach", err, protocol.CodeNotFound)
	_, err = r.host.Events(t.Context(), "s1", agenthost.EventsQuery{After: 0, Limit: 0})
	r.wantCode("events", err, protocol.CodeNotFound)
	got := r.openSession(&protocol.OpenSessionRequest{
		SessionID: "s1", WebhookURL: r.broker.url(), Cursor: &protocol.Cursor{Epoch: 1, Seq: 9},
	})
	if *got.Cursor != (protocol.Cursor{Epoch: 2}) {
		t.Errorf("opened again: %v", got.Cursor)
	}
}

// removing is a Workspaces that reports whether it may take its time.
type removing struct {
	agenthost.Workspaces
	caller  context.CancelFunc
	removed chan error
}

func (removing) OnlyCopies(context.Context, string) (*protocol.OnlyCopies, error) { return nil, nil }

func (w removing) Remove(ctx context.Context, _, _ string) (*protocol.OnlyCopies, error) {
	w.caller()
	w.removed <- ctx.Err()
	return nil, nil
}

// A broker waits seconds for a deletion. A workspace that takes longer would stay for ever.
func TestAWorkspaceIsRemovedThoughTheCallerLeaves(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	w := removing{directories{t.TempDir()}, cancel, make(chan error, 1)}
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.Workspaces = w }
	r.start()
	r.turn("s1", "t1", writeText("a"))
	if _, err := r.host.Delete(ctx, "s1", ""); err != nil {
		t.Fatal(err)
	}
	if err := <-w.removed; err != nil {
		t.Errorf("the removal ended with its caller: %v", err)
	}
}

func TestEventsForReconciliation(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.turn("s1", "t1", writeText("a"), endText(""), writeText("b"))
	r.delivered()
	one, two := int64(1), int64(2)
	for _, c := range []struct {
		name        string
		epoch       *int64
		after       int64
		limit       int
		first, next int64
		n           int
	}{
		{"the current epoch", nil, 0, 0, 1, 5, 5},
		{"after a seq", &one, 2, 2, 3, 4, 2},
		{"another epoch begins at the first", &two, 2, 1, 1, 1, 1},
		{"a limit beyond all bounds", &one, 0, 1 << 30, 1, 5, 5},
		{"the end", &one, 5, 10, 0, 5, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := r.host.Events(t.Context(), "s1", agenthost.EventsQuery{Epoch: c.epoch, After: c.after, Limit: c.limit})
			if err != nil {
				t.Fatal(err)
			}
			if got.Epoch != 1 || len(got.Events) != c.n || got.NextAfter != c.next || got.Status != protocol.StatusIdle {
				t.Errorf("got %+v", got)
			}
			if c.n > 0 && parseEvent(got.Events[0]).Seq != c.first {
				t.Errorf("begins at %s", got.Events[0])
			}
		})
	}
}
