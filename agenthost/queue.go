package agenthost

import (
	"bellhop/agenthost/stream"
	"bellhop/internal/sse"
	"bellhop/protocol"
)

// maxQueued and maxQueuedBytes bound what waits in a session's memory. One prompt
// alone may be of any size that was let in.
const (
	maxQueued      = 16
	maxQueuedBytes = 2 * protocol.MaxLine
)

// queued is a turn whose prompt has come while another was open. It is kept when
// its client leaves. It is not kept when the host ends: then it was not started,
// which its message tells.
type queued struct {
	rec TurnRecord
	req *protocol.PromptRequest
	fan *sse.Fanout // becomes the turn's
}

// checkWhenBusy takes what a request may say.
func checkWhenBusy(what string) error {
	switch what {
	case "", protocol.WhenBusyReject, protocol.WhenBusyQueue, protocol.WhenBusyInterrupt:
		return nil
	}
	return protocol.Errorf(protocol.CodeInvalid, `whenBusy must be "reject", "queue" or "interrupt"`)
}

// size is what the prompt occupies.
func (q *queued) size() int {
	n := len(q.req.Prompt)
	for _, a := range q.req.Attachments {
		n += len(a.Data)
	}
	return n
}

// busy reports whether another turn goes first. Between two turns that is one that
// waits: it is about to start.
func (s *session) busy() bool { return s.turn != nil || len(s.queue) > 0 }

// fits reports whether q may wait too.
func (s *session) fits(q *queued) bool {
	total := q.size()
	for _, other := range s.queue {
		total += other.size()
	}
	return len(s.queue) == 0 || len(s.queue) < maxQueued && total <= maxQueuedBytes
}

// enqueue has the turn wait for the open one, which an interrupt ends at once. Its
// stream says so and then is the turn's own.
func (s *session) enqueue(rec TurnRecord, req *protocol.PromptRequest) (*Stream, error) {
	q := &queued{rec: rec, req: req, fan: sse.NewFanout()}
	if !s.fits(q) {
		return nil, &protocol.Error{
			Code: protocol.CodeBusy, Message: "Too many turns are waiting already", Hint: "Wait for one to end, or interrupt it",
		}
	}
	if s.host.in(draining, stopped) {
		return nil, errStopping()
	}
	if req.WhenBusy == protocol.WhenBusyInterrupt {
		s.queue = append([]*queued{q}, s.queue...)
		if s.turn != nil && s.turn.stop == "" {
			s.turn.beginStop(protocol.ReasonAborted)
		}
	} else {
		s.queue = append(s.queue, q)
	}
	if a := s.announced; a != nil && a.ID == rec.ID {
		s.setAnnounced(nil) // from here on no other turn supersedes it
	}
	return s.waiting(q)
}

// waiting is the stream of a queued turn.
func (s *session) waiting(q *queued) (*Stream, error) {
	position := 1
	for _, other := range s.queue {
		if other == q {
			break
		}
		position++
	}
	data, err := protocol.Marshal(map[string]any{"turnId": q.rec.ID, "position": position})
	if err == nil {
		data, err = protocol.Marshal(&protocol.Part{Type: protocol.PartDataQueued, Data: data})
	}
	if err != nil {
		return nil, err
	}
	return &Stream{TurnID: q.rec.ID, Backlog: [][]byte{stream.Encode("", data)}, Live: q.fan.Subscribe()}, nil
}

// findQueued is the queued turn of an id, or nil.
func (s *session) findQueued(turnID string) *queued {
	for _, q := range s.queue {
		if q.rec.ID == turnID {
			return q
		}
	}
	return nil
}

func (s *session) queuedTurns() []string {
	ids := make([]string, 0, len(s.queue))
	for _, q := range s.queue {
		ids = append(ids, q.rec.ID)
	}
	return ids
}

// startQueued starts the next turn that waits; those that cannot start any more
// say so.
func (s *session) startQueued() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.turn == nil && len(s.queue) > 0 && !s.gone {
		q := s.queue[0]
		s.queue = s.queue[1:]
		if err := s.startIn(q.rec, q.req, q.fan); err != nil {
			s.host.opts.Log.Warn("a queued turn could not start", "session", s.id, "turn", q.rec.ID, "error", err)
			s.discard(q)
		}
	}
}

// dropQueue gives up what waits.
func (s *session) dropQueue() {
	waiting := s.queue
	s.queue = nil
	for _, q := range waiting {
		s.discard(q)
	}
}

// discard ends a queued turn that will not start, its stream too.
func (s *session) discard(q *queued) {
	end, err := protocol.Marshal(&protocol.Part{
		Type: protocol.PartFinish, FinishReason: protocol.FinishOther, RawFinishReason: protocol.ReasonNotStarted, TotalUsage: []byte("{}"),
	})
	if err == nil {
		q.fan.Publish(stream.Encode("", end)) // it is no frame of the session
	}
	q.fan.Close()
	if q.rec.Expires.IsZero() { // nobody was told of it
		return
	}
	b := s.begin()
	s.notStarted(b, q.rec)
	if err := b.commit(); err != nil {
		s.host.opts.Log.Error("a turn that was not started could not be closed; the next start closes it", "session", s.id, "turn", q.rec.ID, "error", err)
	}
}
