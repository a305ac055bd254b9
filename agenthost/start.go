package agenthost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"bellhop/internal/failpoint"
	"bellhop/internal/sse"
	"bellhop/protocol"
)

// Start starts the turn of a grant and streams it. A turn that was started before
// is replayed and attached to, whatever the prompt. CodeBusy: another turn is
// open; CodeNoTurn: this grant can start nothing; CodePromptMismatch;
// CodeStorageFull.
func (h *Host) Start(ctx context.Context, g Grant, req *protocol.PromptRequest) (*Stream, error) {
	if err := checkWhenBusy(req.WhenBusy); err != nil {
		return nil, err
	}
	if g.Attach {
		return nil, errNoTurn("This token reads, answers and interrupts; it starts no turn")
	}
	s, err := h.session(g.SessionID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return nil, &protocol.Error{Code: protocol.CodeNotFound, Message: "Session not found"}
	}
	if g.TurnID == "" {
		return s.startUnannounced(req)
	}
	if q := s.findQueued(g.TurnID); q != nil {
		return s.waiting(q)
	}
	if a := s.announced; a == nil || a.ID != g.TurnID {
		return s.replayStarted(ctx, g.TurnID)
	}
	if err := checkPrompt(s.announced, req); err != nil {
		return nil, err
	}
	return s.start(*s.announced, req)
}

func (s *session) startUnannounced(req *protocol.PromptRequest) (*Stream, error) {
	if err := checkPrompt(&TurnRecord{}, req); err != nil {
		return nil, err
	}
	return s.start(TurnRecord{SessionID: s.id, ID: protocol.NewID(), Announced: s.host.opts.Now().UTC()}, req)
}

func checkPrompt(rec *TurnRecord, req *protocol.PromptRequest) error {
	if req.Prompt == "" && len(req.Attachments) == 0 {
		return &protocol.Error{Code: protocol.CodeInvalid, Message: "prompt is required"}
	}
	if rec.PromptSHA256 == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(req.Prompt))
	if hex.EncodeToString(sum[:]) != rec.PromptSHA256 {
		return &protocol.Error{
			Code: protocol.CodePromptMismatch, Message: "This is not the prompt that was checked in",
			Hint: "Send exactly the message of the check-in",
		}
	}
	return nil
}

// start makes the turn durable and lets the agent begin. The stream is subscribed
// before that: it misses nothing.
func (s *session) start(rec TurnRecord, req *protocol.PromptRequest) (*Stream, error) {
	if s.busy() && (req.WhenBusy == protocol.WhenBusyQueue || req.WhenBusy == protocol.WhenBusyInterrupt) {
		return s.enqueue(rec, req)
	}
	if s.busy() {
		return nil, &protocol.Error{
			Code: protocol.CodeBusy, Message: "A turn is open",
			Hint: "Wait for it to end, interrupt it, or send whenBusy",
		}
	}
	fan := sse.NewFanout()
	stream := &Stream{TurnID: rec.ID, Live: fan.Subscribe()}
	if err := s.startIn(rec, req, fan); err != nil {
		stream.Close()
		return nil, err
	}
	return stream, nil
}

// startIn starts a turn whose readers have subscribed to fan.
func (s *session) startIn(rec TurnRecord, req *protocol.PromptRequest, fan *sse.Fanout) error {
	if s.rec.Outbox == OutboxStopped {
		return errNoTurn("The session has stopped: " + s.rec.OutboxError)
	}
	if s.host.in(draining, stopped) {
		return errStopping()
	}
	text, err := s.instructed(s.host.work, req.Prompt)
	if err != nil {
		return err
	}
	b := s.begin()
	rec.State, rec.Started, rec.FirstOffset = TurnOpen, b.now, b.next
	t := s.newTurn(rec)
	t.before = s.stream.Last()
	b.w.Turns = append(b.w.Turns, rec)
	b.input(t, req)
	b.status(rec.ID, protocol.StatusBusy, "")
	b.then(func() {
		stopTimer(&s.idle)
		if s.announced != nil && s.announced.ID == rec.ID {
			s.setAnnounced(nil)
		}
		s.stream.BeginTurn(fan, rec.FirstOffset)
		s.turn = t
		s.armRenewal(0)
	})
	b.reserveAhead()
	if err := b.commit(); err != nil {
		t.cancel()
		return err
	}
	failpoint.Hit("turn-started")
	prompt := Prompt{TurnID: rec.ID, Text: text, Attachments: req.Attachments}
	if !s.host.spawn(func() { t.run(prompt) }) {
		return errStopping() // stopped meanwhile; the next start of the host ends the turn
	}
	return nil
}

// reserveAhead takes a block of offsets in the same write when few are left.
func (b *batch) reserveAhead() {
	if b.next+offsetBlock/8 > b.rec.OffsetReserved {
		b.rec.OffsetReserved = b.next + offsetBlock
	}
}

func errNoTurn(message string) error {
	return &protocol.Error{
		Code: protocol.CodeNoTurn, Message: message, Hint: "Check in for a new turn",
	}
}
