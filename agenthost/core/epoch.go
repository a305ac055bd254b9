package core

import (
	"cmp"
	"crypto/subtle"
	"slices"

	"bellhop/protocol"
)

// Events that only headless sessions have: no broker stores what their agents were given.
const (
	EventInput        protocol.EventType = "input"
	EventInstructions protocol.EventType = "instructions"
)

// Refuses returns why a broker may not open the session, or nil if it may. known says that the journal has the request's
// turn.
func (s *State) Refuses(req *protocol.OpenSessionRequest, keyHash string, known bool) error {
	if req.BrokerID != "" && s.Record.BrokerID != "" && req.BrokerID != s.Record.BrokerID {
		return &protocol.Error{
			Code: protocol.CodeForeignBroker, Message: "The session belongs to another broker",
			Hint: "A session is bound to the first broker that opens it; use another session id, " +
				"or delete the session on the host",
		}
	}
	if s.Durable && s.Headless() {
		return &protocol.Error{
			Code: protocol.CodeForeignBroker, Message: "The session was opened without a broker and stays so",
		}
	}
	if req.BindKey && (keyHash == "" || req.BrokerID == "") {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "bindKey needs brokerId and the header " + protocol.HeaderSessionKey,
			Hint: "A proxy between broker and host may have removed the header",
		}
	}
	return cmp.Or(s.CheckKey(keyHash), s.checkOrder(req, known))
}

// CheckKey returns CodeSessionKey if a key is bound to the session that has another hash.
func (s *State) CheckKey(hash string) error {
	if s.Record.KeyHash == "" || subtle.ConstantTimeCompare([]byte(s.Record.KeyHash), []byte(hash)) == 1 {
		return nil
	}
	return &protocol.Error{
		Code: protocol.CodeSessionKey, Message: "The session is bound to the key of another broker",
		Hint: "Only the broker that opened it has the key. If its database lost it, release the session " +
			"on the host's machine: bellhop sessions release --data DIR " + s.ID,
	}
}

// checkOrder returns CodeConflict for a new turn that was checked in before one that the session has or had. Nothing
// else tells the request of a check-in that was given up from a new one, if it comes late and for the first time.
func (s *State) checkOrder(req *protocol.OpenSessionRequest, known bool) error {
	turn, newest := req.Turn, s.Record.AnnouncedRev
	if turn == nil || known || turn.Rev == 0 || turn.Rev >= newest || req.Incarnation != s.Record.Incarnation ||
		s.Place(turn.ID) != PlaceGone {
		return nil
	}
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: "A later message of the task has reached the agent host",
		Hint: "Nothing was done: send the message again", Fields: map[string]any{"rev": newest},
	}
}

func (KeyReleased) apply(x *Step) error {
	if x.State.Record.KeyHash != "" {
		x.record().KeyHash = ""
	}
	return nil
}

func (in Opened) apply(x *Step) error {
	s, req := &x.State, &in.Request
	if err := s.Refuses(req, in.KeyHash, in.TurnKnown); err != nil {
		return err
	}
	fresh, rec := !s.Durable, x.record()
	if fresh {
		*rec = SessionRecord{ID: s.ID, Agent: in.DefaultAgent, Status: protocol.StatusNone, CreatedAt: x.now}
	}
	if req.Agent != "" && req.Agent != rec.Agent || req.Project != "" && req.Project != rec.Project {
		rec.AgentSessionID = "" // it names a conversation of the former agent, or in the former directory
	}
	if req.Agent != "" && req.Agent != rec.Agent {
		rec.Model = "" // the model was of the former agent
	}
	rec.BrokerID = cmp.Or(req.BrokerID, rec.BrokerID)
	rec.NamedAnswers = rec.BrokerID != "" && req.NamedAnswers
	if req.BindKey {
		rec.KeyHash = in.KeyHash
	}
	rec.OwnerKeyHash = cmp.Or(in.OwnerKeyHash, rec.OwnerKeyHash)
	rec.Agent = cmp.Or(req.Agent, rec.Agent)
	rec.Project = cmp.Or(req.Project, rec.Project)
	rec.Model = cmp.Or(req.Model, rec.Model)
	rec.Mode = cmp.Or(req.PermissionMode, rec.Mode)
	rec.Title = cmp.Or(req.Title, rec.Title)
	rec.Owner = cmp.Or(req.Owner, rec.Owner)
	rec.WebhookURL = req.WebhookURL
	rec.Basic = rec.BrokerID == "" && req.Turn == nil && req.Cursor == nil && !req.Attach
	rec.Outbox, rec.OutboxError = OutboxOK, ""
	s.Delivery.AddressVersion++
	s.Delivery.WebhookExpires = in.WebhookExpires
	x.epochs().comparePositions(fresh, req.Cursor)
	x.delivery().opensIncarnation(req)
	if req.Turn != nil {
		rec.AnnouncedRev = max(rec.AnnouncedRev, req.Turn.Rev)
	}
	x.queue().announceRequested(req.Turn, in.TurnKnown, in.Token.ExpiresAt)
	x.epochs().addToken(in.Token)
	if in.Act != nil {
		x.Rows.Acts, x.Rows.DropActs = append(x.Rows.Acts, *in.Act), x.now.Add(-protocol.ActKept)
	}
	x.effect(CountPending{})
	x.effect(Post{Nudge: true})
	x.delivery().armRenewal(0)
	return nil
}

func (x epochStep) addToken(token TokenRecord) {
	x.Rows.Tokens = append(x.Rows.Tokens, token)
	x.Rows.DropTokens = x.now
}

// comparePositions compares the journal's position with the broker's, which is nil
// for basic brokers.
func (x epochStep) comparePositions(fresh bool, theirs *protocol.Cursor) {
	s := &x.State
	rec := &s.Record
	switch {
	case fresh && theirs == nil:
		rec.Cursor = protocol.Cursor{Epoch: 1}
	case fresh, theirs != nil && rec.Cursor.Less(*theirs):
		// A lost disk or an older copy: the broker has events this journal lacks.
		rec.Cursor = protocol.Cursor{Epoch: theirs.Epoch + 1}
	case theirs != nil && theirs.Less(rec.Acked):
		// The broker is an older copy: it gets everything after its cursor again.
		x.delivery().rewindTo(*theirs)
	}
	if fresh {
		rec.Acked = protocol.Cursor{Epoch: rec.Cursor.Epoch}
		x.resetWindow(protocol.StreamID{Epoch: rec.Cursor.Epoch, Offset: s.Next - 1})
	}
}

// resetWindow sets the id of the frame before the first one that readers can get.
func (x epochStep) resetWindow(last protocol.StreamID) {
	x.State.Last = last
	x.Window = &last
}

func (in HeadlessOpened) apply(x *Step) error {
	s := &x.State
	switch {
	case !s.Durable:
		*x.record() = SessionRecord{
			ID: s.ID, Agent: in.Agent, Model: in.Model, Project: in.Project, Mode: in.Mode,
			Status: protocol.StatusNone, Outbox: OutboxNone, CreatedAt: x.now,
		}
		x.epochs().comparePositions(true, nil)
		if text := protocol.SanitizeText(in.Instructions); text != "" {
			x.event("", protocol.Event{Type: EventInstructions, Text: &text}, nil, false)
		}
	case !s.Headless():
		return &protocol.Error{
			Code: protocol.CodeForeignBroker, Message: "The session belongs to a broker",
			Hint: "Check in at the broker for a token",
		}
	}
	x.epochs().addToken(in.Token)
	return nil
}

func (TokensRevoked) apply(x *Step) error {
	x.Rows.DropAllTokens = true
	x.effect(CutStreams{})
	return nil
}

func (in WorkspaceUsed) apply(x *Step) error {
	rec := &x.State.Record
	secret := cmp.Or(in.Secret, rec.Secret)
	if rec.Dir != in.Dir || rec.Secret != secret {
		rec = x.record()
		rec.Dir, rec.Secret = in.Dir, secret
	}
	return nil
}

// apply takes over what the journal holds and closes what a crash left open: an
// open turn ends with host-restarted, its questions before it; announced turns
// whose tokens have expired end with not-started.
func (in Recovered) apply(x *Step) error {
	s, l := &x.State, &in.Loaded
	s.Record, s.Durable, s.Pending = l.Session, true, l.Pending
	s.Delivery.WebhookExpires = in.WebhookExpires
	s.Next = max(1, s.Record.OffsetReserved)
	last := protocol.StreamID{Epoch: s.Record.Cursor.Epoch, Offset: s.Next - 1}
	if l.LastFrame.Offset > 0 {
		last = l.LastFrame
	}
	if slices.ContainsFunc(l.Turns, func(t TurnRecord) bool { return t.State == TurnOpen }) {
		last = NoFrame // frames of the turn were lost: no id is known to be the last
	}
	x.epochs().resetWindow(last)
	for _, rec := range l.Turns {
		if rec.State == TurnOpen {
			x.epochs().recoverOpen(rec, &in)
		} else {
			x.epochs().recoverAnnounced(rec)
		}
	}
	if s.Record.Status == protocol.StatusBusy || s.Record.Reason != "" {
		x.status("", protocol.StatusIdle, "")
	}
	return nil
}

// recoverOpen ends a turn whose agent died with the host.
func (x epochStep) recoverOpen(rec TurnRecord, in *Recovered) {
	s := &x.State
	t := &Turn{Record: rec, Stop: protocol.ReasonHostRestarted}
	for i := range in.Events {
		switch e := &in.Events[i]; e.Type {
		case protocol.EventToolCall:
			t.Calls.begin(e.ToolCallID, Call{Name: e.ToolName, Input: e.Input})
		case protocol.EventToolResult:
			if known, ok := t.Calls.known.get(e.ToolCallID); ok {
				t.Calls.end(e.ToolCallID, known)
			}
		}
	}
	s.Turn, x.ownTurn = t, true
	s.Questions = nil
	for _, q := range in.Loaded.Interactions {
		if q.TurnID == rec.ID {
			s.Questions = append(s.Questions, q)
		}
	}
	slices.SortFunc(s.Questions, func(a, b InteractionRecord) int { return cmp.Compare(a.ID, b.ID) })
	x.turns().finish(Outcome{}, Activity{})
}

func (x epochStep) recoverAnnounced(rec TurnRecord) {
	if !x.now.Before(rec.Expires) {
		x.queue().notStarted(rec)
		return
	}
	former := x.State.Announced
	x.queue().announce(&rec)
	if former != nil {
		x.queue().notStarted(*former) // it was queued, and its prompt is lost
	}
}

func (Deleted) apply(x *Step) error {
	s := &x.State
	if s.Turn != nil {
		return &protocol.Error{Code: protocol.CodeBusy, Message: "A turn is open", Hint: "Delete again"}
	}
	x.Rows.DropSession = true
	s.Deleted, s.Durable = true, false
	x.effect(CutStreams{})
	for i := range s.Queue {
		x.effect(EndQueued{s.Queue[i].Record.ID})
	}
	s.Queue, s.Announced = nil, nil
	for name := range Timers {
		x.effect(StopTimer{name})
	}
	x.effect(Post{Nudge: true})
	return nil
}
