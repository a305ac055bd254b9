package agenthost

import (
	"context"
	"strings"

	"bellhop/agenthost/core"
	"bellhop/agenthost/stream"
	"bellhop/protocol"
)

// Start starts the turn of a grant and streams it. A turn that was started before
// is replayed and attached to, with any prompt. CodeBusy: another turn is open;
// CodeNoTurn: this grant can start nothing; CodePromptMismatch; CodeStorageFull.
func (h *Host) Start(ctx context.Context, g Grant, req *protocol.PromptRequest) (*Stream, error) {
	if err := checkWhenBusy(req.WhenBusy); err != nil {
		return nil, err
	}
	if g.Attach {
		return nil, core.ErrReadOnly()
	}
	s, err := h.session(g.SessionID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Deleted {
		return nil, errSessionNotFound()
	}
	switch s.state.Place(g.TurnID) {
	case core.PlaceQueued:
		return s.waiting(g.TurnID, &Stream{TurnID: g.TurnID, Live: s.prompts[g.TurnID].Subscribe()})
	case core.PlaceOpen:
		return s.replay(ctx, &s.state.Turn.Record)
	case core.PlaceGone:
		return s.replayFinished(ctx, g.TurnID)
	}
	return s.prompt(ctx, core.Prompted{TurnID: g.TurnID, Request: *req})
}

// Input starts a turn for a client that watches the session's lines. Unlike
// Start it never attaches to a turn that was started before. CodeBusy, CodeNoTurn,
// CodePromptMismatch and CodeStorageFull as there.
func (h *Host) Input(ctx context.Context, g Grant, req *protocol.PromptRequest) error {
	if strings.TrimSpace(req.Prompt) == "" && len(req.Attachments) == 0 {
		return protocol.Errorf(protocol.CodeInvalid, "An input needs text or attachments")
	}
	s, err := h.session(g.SessionID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	reader, err := s.prompt(context.WithoutCancel(ctx), core.Prompted{TurnID: g.TurnID, Request: *req, Line: true, ReadOnly: g.Attach})
	reader.Close()
	return err
}

func checkWhenBusy(what string) error {
	switch what {
	case "", protocol.WhenBusyReject, protocol.WhenBusyQueue, protocol.WhenBusyInterrupt:
		return nil
	}
	return protocol.Errorf(protocol.CodeInvalid, `whenBusy must be "reject", "queue" or "interrupt"`)
}

// prompt starts or queues a turn. Its reader joins before that: it misses nothing.
func (s *session) prompt(ctx context.Context, in core.Prompted) (*Stream, error) {
	if in.New = in.TurnID == ""; in.New {
		in.TurnID = protocol.NewID()
	}
	instructions, err := s.instructions(ctx)
	if err != nil {
		return nil, err
	}
	in.Instructions, in.HostStopping = instructions, s.host.in(draining, stopped)
	in.Kept = protocol.CutText(stream.NewMasker(s.secrets()).Text(protocol.SanitizeText(in.Request.Prompt)), protocol.MaxMessage)
	reader := s.addPrompt(in.TurnID)
	if _, err := s.apply(in); err != nil {
		delete(s.prompts, in.TurnID)
		reader.Close()
		return nil, err
	}
	if s.state.Place(in.TurnID) == core.PlaceQueued {
		return s.waiting(in.TurnID, reader)
	}
	if s.turn != nil && s.turn.id == in.TurnID && !s.turn.spawned { // the next start of the host ends it
		reader.Close()
		return nil, core.ErrStopping()
	}
	return reader, nil
}

// waiting puts the place in the queue before what a reader of a queued turn gets.
func (s *session) waiting(turnID string, reader *Stream) (*Stream, error) {
	data, err := protocol.Marshal(map[string]any{"turnId": turnID, "position": s.state.Position(turnID)})
	if err == nil {
		data, err = protocol.Marshal(&protocol.Part{Type: protocol.PartDataQueued, Data: data})
	}
	if err != nil {
		reader.Close()
		return nil, err
	}
	reader.Backlog = [][]byte{stream.Encode("", data)}
	return reader, nil
}

// instructions returns what goes before the first prompt of a headless session, "" if
// the next prompt is not the first.
func (s *session) instructions(ctx context.Context) (string, error) {
	if !s.state.Headless() {
		return "", nil
	}
	turns, err := s.host.opts.Journal.TurnsFrom(ctx, s.id, -1)
	if err != nil || len(turns) > 0 {
		return "", err
	}
	events, err := s.host.opts.Journal.Events(ctx, s.id, s.state.Record.Cursor.Epoch, 0, 1)
	if err != nil || len(events) == 0 || events[0].Type != core.EventInstructions {
		return "", err
	}
	e, err := eventOf(&events[0])
	if err != nil || e.Text == nil {
		return "", err
	}
	return *e.Text, nil
}

// advanceQueue starts the next turn that waits. Those that can no longer start end.
func (s *session) advanceQueue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.state.Deleted && s.state.Turn == nil && len(s.state.Queue) > 0 {
		next := s.state.Queue[0].Record.ID
		instructions, err := s.instructions(s.host.work)
		if err == nil {
			_, err = s.apply(core.QueueAdvanced{Instructions: instructions, HostStopping: s.host.in(draining, stopped)})
		}
		if err != nil {
			s.host.opts.Log.Warn("a queued turn could not start", "session", s.id, "turn", next, "error", err)
			s.dropQueued()
		}
	}
}

// dropQueue gives up the turns that wait.
func (s *session) dropQueue() {
	for len(s.state.Queue) > 0 && !s.state.Deleted {
		s.dropQueued()
	}
}

func (s *session) dropQueued() {
	next := s.state.Queue[0].Record.ID
	if _, err := s.apply(core.QueueDropped{}); err != nil {
		s.host.opts.Log.Error("a turn that was not started could not be closed; the next start closes it", "session", s.id, "turn", next, "error", err)
		_, _ = s.apply(core.QueueDropped{Unwritten: true}) // it writes nothing
	}
}
