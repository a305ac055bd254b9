package broker

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"bellhop/protocol"
)

// arrival is an event that has its identity: an id, a turn, and a digest by
// which a redelivery is known.
type arrival struct {
	event  *protocol.Event
	raw    json.RawMessage
	id     string
	turn   string
	digest string
}

// identify needs no database.
func identify(taskID, claimTurn string, events []Inbound) ([]arrival, error) {
	arrivals := make([]arrival, len(events))
	for i, in := range events {
		fail := func(err error) error { return atIndex(err, i, len(events)) }
		if in.Event.SessionID != "" && in.Event.SessionID != taskID {
			return nil, fail(protocol.Errorf(protocol.CodeInvalid, "Session ID mismatch"))
		}
		digest, err := digestOf(in.Raw)
		if err != nil {
			return nil, fail(err)
		}
		a := arrival{event: in.Event, raw: in.Raw, id: in.Event.EventID, turn: in.Event.TurnID, digest: digest}
		if a.turn == "" && in.Event.Epoch == 0 {
			a.turn = claimTurn // a basic host; others leave out the turn where there is none
		}
		if a.id == "" {
			a.id = in.Event.DerivedID(in.Raw, a.turn)
		}
		arrivals[i] = a
	}
	return arrivals, nil
}

func (a *arrival) stored(taskID string, now time.Time, late bool) StoredEvent {
	return StoredEvent{
		TaskID: taskID, EventID: a.id, Epoch: a.event.Epoch, Seq: a.event.Seq, TurnID: a.turn,
		Type: a.event.Type, Body: a.raw, Digest: a.digest, Late: late, ReceivedAt: now,
	}
}

// digestOf hashes the canonical form without sessionId, which a batch names
// once for all its events.
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
