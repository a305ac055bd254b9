package agenthost

import (
	"bytes"
	"context"
	"encoding/json"
	"math"

	"bellhop/internal/sse"
	"bellhop/protocol"
)

// maxReplay bounds a replay of several turns. A cursor further back gets the
// newest turn: the rest is read from the broker anyway.
const maxReplay = 8 << 20

// everything is an offset above all others.
const everything = math.MaxInt64 - 1

// Attach streams from a cursor, "" for none. A nil Stream means idle and nothing
// newer. A stream ends with the open turn unless follow is set.
func (h *Host) Attach(ctx context.Context, sessionID, cursor string, follow bool) (*Stream, error) {
	s, err := h.session(sessionID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	backlog, err := s.backlog(ctx, cursor)
	if err != nil {
		return nil, err
	}
	if s.turn == nil && !follow && len(backlog) == 0 {
		return nil, nil //nolint:nilnil // documented: 204
	}
	if len(backlog) == 0 && cursor != "" {
		backlog = [][]byte{s.verdict(protocol.ResumeOK, "")}
	}
	return &Stream{TurnID: s.openTurn(), Backlog: backlog, Live: s.subscribe(follow)}, nil
}

func (s *session) backlog(ctx context.Context, cursor string) ([][]byte, error) {
	if cursor == "" {
		if s.turn == nil {
			return nil, nil
		}
		frames, from, err := s.replay(ctx, []TurnRecord{s.turn.rec}, everything)
		return s.retold(frames, from), err
	}
	id, err := protocol.ParseStreamID(cursor)
	if err != nil { // whatever it is, it names no frame
		return s.afterGap(ctx, noFrame)
	}
	return s.resume(ctx, id)
}

// resume continues exactly if id's successors are kept, and says so. It returns
// nothing when there is nothing newer and never will be in this turn.
func (s *session) resume(ctx context.Context, id protocol.StreamID) ([][]byte, error) {
	frames, ok := s.window.after(id)
	if !ok {
		return s.afterGap(ctx, id)
	}
	if len(frames) == 0 && s.turn == nil {
		return nil, nil
	}
	from := ""
	if len(frames) > 0 {
		from = frames[0].id.String()
	}
	return append([][]byte{s.verdict(protocol.ResumeOK, from)}, bytesOf(frames)...), nil
}

// afterGap replays the turn of a cursor that cannot be resumed, and what followed
// it; for a cursor that says nothing, the open turn or else the last.
func (s *session) afterGap(ctx context.Context, id protocol.StreamID) ([][]byte, error) {
	frames, from, err := s.replayFrom(ctx, id)
	if err != nil {
		return nil, err
	}
	return append([][]byte{s.verdict(protocol.ResumeGap, from)}, frames...), nil
}

func (s *session) replayFrom(ctx context.Context, id protocol.StreamID) ([][]byte, string, error) {
	journal := s.host.opts.Journal
	if id.Epoch >= 0 && id.Epoch <= s.rec.Cursor.Epoch && id.Offset < s.next {
		turns, err := journal.TurnsFrom(ctx, s.id, id.Offset)
		if err != nil {
			return nil, "", err
		}
		if len(turns) > 0 && (turns[0].State == TurnOpen || id.Offset <= turns[0].LastID.Offset) {
			frames, from, err := s.replay(ctx, turns, everything)
			if err != nil || len(turns) == 1 || total(frames) <= maxReplay {
				return frames, from, err
			}
		}
	}
	turns, err := journal.TurnsFrom(ctx, s.id, -1)
	if err != nil {
		return nil, "", err
	}
	return s.replay(ctx, turns, everything)
}

func total(frames [][]byte) (n int) {
	for _, f := range frames {
		n += len(f)
	}
	return n
}

// replay is turns from the first one's start to offset to: from the journal what
// the window no longer has, then the window's own frames. from is the first id in
// it. The window begins after a boundary, so the two fit.
func (s *session) replay(ctx context.Context, turns []TurnRecord, to int64) (frames [][]byte, from string, err error) {
	if len(turns) == 0 {
		return nil, "", nil
	}
	kept := s.window.start(s.next)
	for _, t := range turns {
		if t.FirstOffset >= kept {
			break
		}
		events, err := s.host.opts.Journal.TurnEvents(ctx, s.id, t.ID)
		if err != nil {
			return nil, "", err
		}
		for i := range events {
			if e := &events[i]; e.Frame.Offset < kept && e.Frame.Offset <= to {
				rebuilt := rebuild(e)
				if from == "" && len(rebuilt) > 0 {
					from = e.Frame.String()
				}
				frames = append(frames, rebuilt...)
			}
		}
	}
	live := s.window.between(turns[0].FirstOffset, to)
	if from == "" && len(live) > 0 {
		from = live[0].id.String()
	}
	return append(frames, bytesOf(live)...), from, nil
}

// rebuild is the frames of one journaled event: its part under its own id and, for
// a text, start and delta before it without an id.
func rebuild(e *EventRecord) [][]byte {
	own := encodeFrame(e.Frame.String(), e.Part)
	var part protocol.Part
	if err := json.Unmarshal(e.Part, &part); err != nil || part.Type != protocol.PartTextEnd {
		return [][]byte{own}
	}
	var body struct {
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(e.Body, &body); err != nil || e.Type != protocol.EventText {
		return nil // dropped: its text is in the dead letters only
	}
	start, err1 := protocol.Marshal(&protocol.Part{Type: protocol.PartTextStart, ID: part.ID})
	delta, err2 := protocol.Marshal(&protocol.Part{Type: protocol.PartTextDelta, ID: part.ID, Text: body.Text})
	if err1 != nil || err2 != nil {
		return nil
	}
	return [][]byte{encodeFrame("", start), encodeFrame("", delta), own}
}

// replayStarted answers a POST for a turn that is not the announced one.
func (s *session) replayStarted(ctx context.Context, turnID string) (*Stream, error) {
	if s.openTurn() == turnID {
		frames, from, err := s.replay(ctx, []TurnRecord{s.turn.rec}, everything)
		if err != nil {
			return nil, err
		}
		return &Stream{TurnID: turnID, Backlog: s.retold(frames, from), Live: s.subscribe(false)}, nil
	}
	rec, err := s.host.opts.Journal.Turn(ctx, s.id, turnID)
	if protocol.CodeOf(err) == protocol.CodeNotFound || err == nil && rec.Started.IsZero() {
		return nil, errNoTurn("The turn was superseded, or its time is over")
	}
	if err != nil {
		return nil, err
	}
	frames, from, err := s.replay(ctx, []TurnRecord{*rec}, rec.LastID.Offset)
	if err != nil {
		return nil, err
	}
	return &Stream{TurnID: turnID, Backlog: s.retold(frames, from)}, nil
}

// retold says of a replay that it is one when it begins with parts that have no
// id: a reader who loses it there has no cursor, and must not take this host for
// one that cannot resume.
func (s *session) retold(frames [][]byte, from string) [][]byte {
	if len(frames) == 0 || bytes.HasPrefix(frames[0], []byte("id: ")) {
		return frames
	}
	return append([][]byte{s.verdict(protocol.ResumeGap, from)}, frames...)
}

// verdict is the data-resume frame. It has no id: it is no part of the sequence.
func (s *session) verdict(verdict, from string) []byte {
	open := []string{}
	for _, q := range s.openQuestions() {
		open = append(open, q.rec.ID)
	}
	to := ""
	if last := s.lastID(); last != noFrame && last.Offset > 0 {
		to = last.String()
	}
	data, err := protocol.Marshal(&protocol.Resume{Verdict: verdict, From: from, To: to, OpenInteractions: open})
	if err == nil {
		data, err = protocol.Marshal(&protocol.Part{Type: protocol.PartDataResume, Data: data})
	}
	if err != nil {
		panic(err) // strings only
	}
	return encodeFrame("", data)
}

// subscribe joins the open turn, or with follow the session; nil when idle.
func (s *session) subscribe(follow bool) *sse.Subscription {
	switch {
	case follow:
		return s.follow.Subscribe()
	case s.turn != nil:
		return s.turn.fan.Subscribe()
	default:
		return nil
	}
}
