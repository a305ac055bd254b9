package broker

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"bellhop/broker/sequencer"
	"bellhop/protocol"
)

// incomingEvent is an event of a request with its identity.
type incomingEvent struct {
	event  *protocol.Event
	raw    json.RawMessage
	id     string // the event's own, or derived from its content and turn
	turn   string // the event's own, or that of the webhook token
	digest string // of the content: a redelivery has the same
	prompt *protocol.TurnPrompt
}

// identify checks and identifies the events of a request.
func identify(taskID, claimTurn string, events []Inbound) ([]incomingEvent, error) {
	identified := make([]incomingEvent, len(events))
	for i, in := range events {
		fail := func(err error) error { return atIndex(err, i, len(events)) }
		if in.Event.SessionID != "" && in.Event.SessionID != taskID {
			return nil, fail(protocol.Errorf(protocol.CodeInvalid, "Session ID mismatch"))
		}
		digest, err := digestOf(in.Raw)
		if err != nil {
			return nil, fail(err)
		}
		e := incomingEvent{event: in.Event, raw: in.Raw, id: in.Event.EventID, turn: in.Event.TurnID, digest: digest, prompt: in.Prompt}
		if e.turn == "" && in.Event.Epoch == 0 {
			e.turn = claimTurn // a basic host; other hosts leave out the turn only where there is none
		}
		if e.id == "" {
			e.id = in.Event.DerivedID(in.Raw, e.turn)
		}
		identified[i] = e
	}
	return identified, nil
}

// sequenced is what the sequencer needs of the events.
func sequenced(events []incomingEvent) []sequencer.Event {
	list := make([]sequencer.Event, len(events))
	for i := range events {
		e := &events[i]
		list[i] = sequencer.Event{ID: e.id, Digest: e.digest, Position: protocol.Cursor{Epoch: e.event.Epoch, Seq: e.event.Seq}}
	}
	return list
}

// digestOf hashes the canonical form without sessionId: a batch carries the
// sessionId once for all its events, a single event carries its own.
func digestOf(raw json.RawMessage) (string, error) {
	canonical, err := protocol.Canonical(raw)
	if err != nil {
		return "", err
	}
	dec := jsontext.NewDecoder(bytes.NewReader(canonical))
	if _, err := dec.ReadToken(); err != nil {
		return "", protocol.Errorf(protocol.CodeInvalid, "Invalid JSON")
	}
	sum := sha256.New()
	for dec.PeekKind() == '"' {
		name, err := dec.ReadValue()
		if err != nil {
			return "", protocol.Errorf(protocol.CodeInvalid, "Invalid JSON")
		}
		skip := string(name) == `"sessionId"`
		if !skip {
			sum.Write(name)
		}
		value, err := dec.ReadValue()
		if err != nil {
			return "", protocol.Errorf(protocol.CodeInvalid, "Invalid JSON")
		}
		if !skip {
			sum.Write([]byte{':'})
			sum.Write(value)
			sum.Write([]byte{','})
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// atIndex names the bad event, in batches only.
func atIndex(err error, i, n int) error {
	var e *protocol.Error
	if n == 1 || !errors.As(err, &e) {
		return err
	}
	indexed := *e
	indexed.Index = &i
	return &indexed
}
