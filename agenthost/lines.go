package agenthost

import (
	"context"
	"encoding/json"

	"bellhop/agenthost/headless"
	"bellhop/agenthost/stream"
	"bellhop/protocol"
)

const historyPage = 500

// Lines turns a session's frames into the lines of its clients.
type Lines = headless.Lines

// Lines returns the translator of the session's frames for clients of its lines. It
// begins between two turns, or with the open turn's first frame.
func (h *Host) Lines(sessionID string) *Lines {
	return headless.NewLines(sessionID, lineSource{h.opts.Journal, sessionID})
}

// lineSource reads a session's journal for its lines.
type lineSource struct {
	journal   Journal
	sessionID string
}

func (l lineSource) Event(ctx context.Context, at protocol.Cursor) (*protocol.Event, error) {
	rows, err := l.journal.Events(ctx, l.sessionID, at.Epoch, at.Seq-1, 1)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || rows[0].Cursor != at {
		return nil, protocol.Errorf(protocol.CodeNotFound, "No event at %d-%d", at.Epoch, at.Seq)
	}
	return eventOf(&rows[0])
}

func (l lineSource) Question(ctx context.Context, interactionID string) (*protocol.Event, error) {
	rec, err := l.journal.Interaction(ctx, l.sessionID, interactionID)
	if err != nil {
		return nil, err
	}
	return &rec.Question, nil
}

// History returns a session's lines so far, both ways, in order, from the journal: a
// text is one message. Inputs are in the history of headless sessions; those of other
// sessions are stored by the broker.
func (h *Host) History(ctx context.Context, sessionID string) ([]protocol.Line, error) {
	if _, err := h.session(sessionID); err != nil {
		return nil, err
	}
	lines := []protocol.Line{}
	var at protocol.Cursor
	for {
		rows, err := h.opts.Journal.Pending(ctx, sessionID, at, historyPage)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			e, err := eventOf(&rows[i])
			if err != nil {
				return nil, err
			}
			lines = append(lines, headless.History(sessionID, e)...)
			at = rows[i].Cursor
		}
		if len(rows) < historyPage {
			return lines, nil
		}
	}
}

// Notice shows a message of the host itself to every reader of every session. It is not
// stored.
func (h *Host) Notice(level, message string) {
	data, err := protocol.Marshal(headless.Notice{Level: level, Message: message, System: true})
	if err == nil {
		data, err = protocol.Marshal(&protocol.Part{Type: protocol.PartDataNotice, Data: data})
	}
	if err != nil {
		return // it holds only strings
	}
	frame := stream.Encode("", data)
	for _, s := range h.all() {
		s.mu.Lock()
		s.stream.Send(frame)
		s.mu.Unlock()
	}
}

// eventOf decodes the event of a row.
func eventOf(row *EventRecord) (*protocol.Event, error) {
	var e protocol.Event
	if err := json.Unmarshal(row.Body, &e); err != nil {
		return nil, protocol.Errorf(protocol.CodeInternal, "the journal holds an event that cannot be read")
	}
	return &e, nil
}
