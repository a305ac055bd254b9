package agenthost

import (
	"context"
	"net/url"
	"regexp"
	"time"

	"bellhop/protocol"
)

var sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)

const maxSessionID = 128

// Open creates or refreshes a session and mints a stream token. It starts no
// program. CodeInvalid: bad request, unknown agent or project; CodeForeignBroker.
func (h *Host) Open(ctx context.Context, req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
	if err := h.checkOpen(req); err != nil {
		return nil, err
	}
	if h.in(draining, stopped) {
		return nil, errStopping()
	}
	s := h.sessionToOpen(req.SessionID)
	defer s.mu.Unlock()
	o := &opening{s: s, req: req, b: s.begin()}
	if err := o.refresh(ctx); err != nil {
		return nil, err
	}
	if err := o.announce(ctx); err != nil {
		return nil, err
	}
	token := o.token()
	if err := o.b.commit(); err != nil {
		return nil, err
	}
	s.afterOpen(ctx)
	return s.opened(token, o.expires), nil
}

// opening is one call of Open; the session's lock is held.
type opening struct {
	s       *session
	req     *protocol.OpenSessionRequest
	b       *batch
	rewound bool
	expires time.Time
}

func (h *Host) checkOpen(req *protocol.OpenSessionRequest) error {
	if req.SessionID == "" || len(req.SessionID) > maxSessionID {
		return protocol.Errorf(protocol.CodeInvalid, "sessionId must be 1 to %d characters", maxSessionID)
	}
	u, err := url.Parse(req.WebhookURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return &protocol.Error{Code: protocol.CodeInvalid, Message: "webhookUrl must be an http or https URL"}
	}
	if _, ok := h.opts.Providers[req.Agent]; req.Agent != "" && !ok {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "This host has no such agent",
			Hint: "It has: " + agentNames(h.opts.Providers),
		}
	}
	if c := req.Cursor; c != nil && (c.Epoch < 0 || c.Seq < 0) {
		return &protocol.Error{Code: protocol.CodeInvalid, Message: "cursor must not be negative"}
	}
	if t := req.Turn; t != nil {
		if t.ID == "" || len(t.ID) > protocol.MaxTurnID {
			return protocol.Errorf(protocol.CodeInvalid, "turn.id must be 1 to %d characters", protocol.MaxTurnID)
		}
		if t.PromptSHA256 != "" && !sha256Form.MatchString(t.PromptSHA256) {
			return &protocol.Error{Code: protocol.CodeInvalid, Message: "turn.promptSha256 must be 64 lower-case hex digits"}
		}
	}
	return nil
}

// refresh takes over what the request says about the session.
func (o *opening) refresh(ctx context.Context) error {
	s, rec := o.s, o.b.record()
	fresh := !s.durable.Load()
	if fresh {
		*rec = SessionRecord{
			ID: s.id, Agent: s.host.opts.DefaultAgent, Status: protocol.StatusNone, CreatedAt: o.b.now,
		}
	}
	if o.req.BrokerID != "" && rec.BrokerID != "" && o.req.BrokerID != rec.BrokerID {
		return &protocol.Error{
			Code: protocol.CodeForeignBroker, Message: "The session belongs to another broker",
			Hint: "A session is bound to the first broker that opens it; use another session id, or delete the session on the host",
		}
	}
	if !fresh && rec.Outbox == OutboxNone {
		return &protocol.Error{Code: protocol.CodeForeignBroker, Message: "The session was opened without a broker and stays so"}
	}
	if fresh || o.req.Project != "" && o.req.Project != rec.Project {
		if _, _, err := s.host.opts.Workspaces.Dir(ctx, s.id, o.req.Project); err != nil {
			return err
		}
	}
	take(&rec.BrokerID, o.req.BrokerID)
	o.changeAgent(rec)
	take(&rec.Agent, o.req.Agent)
	take(&rec.Project, o.req.Project)
	take(&rec.Model, o.req.Model)
	rec.WebhookURL = o.req.WebhookURL
	rec.Basic = rec.BrokerID == "" && o.req.Turn == nil && o.req.Cursor == nil && !o.req.Attach
	rec.Outbox, rec.OutboxError = OutboxOK, ""
	o.position(fresh)
	return nil
}

// changeAgent forgets what belongs to the former agent alone: another one knows
// nothing of its native session, nor does the same one in another directory.
func (o *opening) changeAgent(rec *SessionRecord) {
	if o.req.Agent != "" && o.req.Agent != rec.Agent || o.req.Project != "" && o.req.Project != rec.Project {
		rec.Native = ""
	}
}

// take replaces what is named; an absent member changes nothing.
func take(dst *string, value string) {
	if value != "" {
		*dst = value
	}
}

// position compares the journal's position with the broker's.
func (o *opening) position(fresh bool) {
	rec, theirs := &o.b.rec, o.req.Cursor
	switch {
	case fresh && theirs == nil:
		rec.Cursor = protocol.Cursor{Epoch: 1}
	case fresh, theirs != nil && rec.Cursor.Less(*theirs):
		// A lost disk or an older copy: the broker has events this journal lacks.
		rec.Cursor = protocol.Cursor{Epoch: theirs.Epoch + 1}
	case theirs != nil && theirs.Less(rec.Acked):
		// The broker is an older copy: it gets everything after its cursor again.
		rec.Acked, o.rewound = *theirs, true
	}
	if fresh {
		rec.Acked = protocol.Cursor{Epoch: rec.Cursor.Epoch}
		id := protocol.StreamID{Epoch: rec.Cursor.Epoch, Offset: o.b.next - 1}
		o.b.then(func() { o.s.stream.ContinueAfter(id) })
	}
	if o.rewound {
		o.b.then(o.s.outbox.rewind)
	}
}

// announce makes the request's turn the one that may be started next.
func (o *opening) announce(ctx context.Context) error {
	s, turn := o.s, o.req.Turn
	o.expires = o.b.now.Add(s.host.opts.TokenTTL)
	if turn == nil || s.openTurn() == turn.ID || s.findQueued(turn.ID) != nil {
		return nil
	}
	rec := TurnRecord{SessionID: s.id, ID: turn.ID, State: TurnAnnounced, Announced: o.b.now}
	if a := s.announced; a != nil && a.ID == turn.ID {
		rec = *a
	} else {
		_, err := s.host.opts.Journal.Turn(ctx, s.id, turn.ID)
		if err == nil { // over: its token replays it, if it was ever started
			return nil
		}
		if protocol.CodeOf(err) != protocol.CodeNotFound {
			return err
		}
		if a != nil {
			s.notStarted(o.b, *a)
		}
	}
	rec.PromptSHA256, rec.Expires = turn.PromptSHA256, o.expires
	o.b.w.Turns = append(o.b.w.Turns, rec)
	o.b.then(func() { s.setAnnounced(&rec) })
	return nil
}

// notStarted ends an announced turn. It has no stream, so its finish has no part.
func (s *session) notStarted(b *batch, rec TurnRecord) {
	rec.State, rec.Finished = TurnFinished, b.now
	rec.FinishReason, rec.Reason = protocol.FinishOther, protocol.ReasonNotStarted
	b.w.Turns = append(b.w.Turns, rec)
	b.event(rec.ID, protocol.Event{Type: protocol.EventFinish, FinishReason: rec.FinishReason, Reason: rec.Reason}, nil, false)
	b.then(func() {
		if s.announced != nil && s.announced.ID == rec.ID {
			s.setAnnounced(nil)
		}
	})
}

// setAnnounced also arms the end of the turn's last token.
func (s *session) setAnnounced(rec *TurnRecord) {
	stopTimer(&s.announcedBy)
	if s.announced = rec; rec == nil {
		return
	}
	left := rec.Expires.Sub(s.host.opts.Now())
	s.announcedBy = time.AfterFunc(left, func() { s.host.spawn(func() { s.expireAnnounced(rec) }) })
}

func (s *session) expireAnnounced(rec *TurnRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.announced != rec || s.gone {
		return
	}
	b := s.begin()
	s.notStarted(b, *rec)
	if err := b.commit(); err != nil {
		s.host.opts.Log.Error("a turn that was not started could not be closed", "session", s.id, "turn", rec.ID, "error", err)
		s.announcedBy = time.AfterFunc(time.Minute, func() { s.host.spawn(func() { s.expireAnnounced(rec) }) })
	}
}

// afterOpen lets the outbox try the new address at once.
func (s *session) afterOpen(ctx context.Context) {
	if n, err := s.host.opts.Journal.CountPending(ctx, s.id, s.rec.Acked); err == nil {
		s.pending = n
	}
	s.outbox.nudge()
	s.wakeOutbox()
	s.armRenewal(0)
}

func (s *session) opened(token string, expires time.Time) *protocol.OpenSessionResponse {
	cursor := s.rec.Cursor
	out := &protocol.OpenSessionResponse{
		Token: token, ExpiresAt: &expires, Cursor: &cursor,
		Status: s.rec.Status, Reason: s.rec.Reason, OpenTurn: s.openTurn(), QueuedTurns: s.queuedTurns(),
		Capabilities: s.host.capabilities(),
	}
	if s.turn != nil {
		before := s.turn.before.String()
		out.StreamCursor = &before
	}
	if base := s.host.opts.PublicURL; base != "" {
		out.StreamURL = base + "/stream/" + url.PathEscape(s.id)
	}
	return out
}

func errStopping() error {
	return &protocol.Error{Code: protocol.CodeUnavailable, Message: "The agent host is stopping", RetryAfter: 5}
}
