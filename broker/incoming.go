package broker

import (
	"encoding/json"
	"errors"

	"bellhop/broker/sequencer"
	"bellhop/protocol"
)

// incomingEvent is an event of a request, with the values that identify it.
type incomingEvent struct {
	event  *protocol.Event
	raw    json.RawMessage
	id     string // the eventId of the event, or derived from its content and turn
	turn   string // the turnId of the event, or of the webhook token
	prompt *protocol.TurnPrompt
}

// identify returns the events of a request with their ids and turns. It returns CodeInvalid if
// an event names another session.
func identify(taskID, claimTurn string, events []Inbound) ([]incomingEvent, error) {
	identified := make([]incomingEvent, len(events))
	for i, in := range events {
		if in.Event.SessionID != "" && in.Event.SessionID != taskID {
			return nil, atIndex(protocol.Errorf(protocol.CodeInvalid, "Session ID mismatch"), i, len(events))
		}
		e := incomingEvent{event: in.Event, raw: in.Raw, id: in.Event.EventID, turn: in.Event.TurnID, prompt: in.Prompt}
		if e.turn == "" && in.Event.Epoch == 0 {
			e.turn = claimTurn // an event of a basic host; other hosts leave out the turn only if there is none
		}
		if e.id == "" {
			e.id = in.Event.DerivedID(in.Raw, e.turn)
		}
		identified[i] = e
	}
	return identified, nil
}

// sequencerEvents returns the events as the sequencer's input. A digest costs more than
// everything else about a request, so only a repeated event gets one: its id is in known, or
// occurs twice in the request.
func sequencerEvents(events []incomingEvent, known map[string]sequencer.Known) ([]sequencer.Event, error) {
	list, seen := make([]sequencer.Event, len(events)), make(map[string]int, len(events))
	digest := func(i int) (err error) {
		if list[i].Digest == "" {
			list[i].Digest, err = sequencer.Digest(events[i].raw)
		}
		return atIndex(err, i, len(events))
	}
	for i := range events {
		e := &events[i]
		list[i] = sequencer.Event{ID: e.id, Position: protocol.Cursor{Epoch: e.event.Epoch, Seq: e.event.Seq}, Body: e.raw}
		first, twice := seen[e.id]
		_, stored := known[e.id]
		if twice {
			if err := digest(first); err != nil {
				return nil, err
			}
		} else {
			seen[e.id] = i
		}
		if twice || stored {
			if err := digest(i); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// atIndex adds the index of the invalid event to the error of a batch.
func atIndex(err error, i, n int) error {
	var e *protocol.Error
	if n == 1 || !errors.As(err, &e) {
		return err
	}
	indexed := *e
	indexed.Index = &i
	return &indexed
}
