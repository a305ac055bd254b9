package inbound

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// readBody reads a JSON body to its cap. A body that does not arrive whole is
// CodeUnavailable: on a 400 a host would drop the event.
func readBody(c echo.Context) ([]byte, error) {
	raw, err := httpapi.ReadBody(c, maxBody)
	switch protocol.CodeOf(err) {
	case protocol.CodeUnsupportedMedia:
		discard(c.Request())
	case protocol.CodeInvalid:
		return nil, &protocol.Error{Code: protocol.CodeUnavailable, Message: "The body did not arrive whole", RetryAfter: 1, Err: err}
	}
	return raw, err
}

func discard(r *http.Request) { _, _ = io.CopyN(io.Discard, r.Body, maxBody) }

// posted is what a body holds.
type posted struct {
	list  []broker.Inbound
	batch bool
}

// parseBody reads one event, or a batch: a body with events and no type. Every
// session it names must be the token's.
func parseBody(raw []byte, taskID string) (posted, error) {
	if mayBeBatch(raw) {
		batch, err := isBatch(raw)
		if err != nil {
			return posted{}, err
		}
		if batch {
			list, err := parseBatch(raw, taskID)
			return posted{list: list, batch: true}, err
		}
	}
	event, err := protocol.ParseEvent(raw)
	if err != nil {
		return posted{}, err
	}
	if event.SessionID != taskID {
		return posted{}, errMismatch()
	}
	return posted{list: []broker.Inbound{{Raw: raw, Event: event}}}, nil
}

// mayBeBatch spares a single event, which ParseEvent checks whole, the parse
// that isBatch costs.
func mayBeBatch(raw []byte) bool {
	return bytes.Contains(raw, []byte(`"events"`)) || bytes.Contains(raw, []byte(`\u00`)) // an escaped letter
}

func isBatch(raw []byte) (bool, error) {
	var members struct {
		Type   json.RawMessage `json:"type"`
		Events json.RawMessage `json:"events"`
	}
	if err := protocol.Decode(raw, &members); err != nil {
		return false, err
	}
	return members.Events != nil && members.Type == nil, nil
}

func parseBatch(raw []byte, taskID string) ([]broker.Inbound, error) {
	var batch protocol.WebhookBatch
	if err := protocol.Decode(raw, &batch); err != nil {
		return nil, err
	}
	switch {
	case batch.SessionID != taskID:
		return nil, errMismatch()
	case len(batch.Events) == 0:
		return nil, protocol.Errorf(protocol.CodeInvalid, "events holds no event")
	case len(batch.Events) > maxEvents:
		// 413, not 400: a host answers it by smaller batches and loses nothing.
		return nil, protocol.Errorf(protocol.CodeTooLarge, "events holds more than %d events", maxEvents)
	}
	list := make([]broker.Inbound, len(batch.Events))
	for i, one := range batch.Events {
		event, err := protocol.ParseEvent(one)
		if err == nil && event.SessionID != "" && event.SessionID != taskID {
			err = errMismatch()
		}
		if err != nil {
			return nil, atIndex(err, i)
		}
		list[i] = broker.Inbound{Raw: one, Event: event}
	}
	return list, nil
}

func errMismatch() error { return protocol.Errorf(protocol.CodeInvalid, "Session ID mismatch") }

func atIndex(err error, i int) error {
	var known *protocol.Error
	if !errors.As(err, &known) {
		return err
	}
	indexed := *known
	indexed.Index = &i
	return &indexed
}

// withIndex names the only event of a batch; the domain, which does not know a
// batch of one from an event, names the bad one of several.
func (p posted) withIndex(err error) error {
	switch protocol.CodeOf(err) {
	case protocol.CodeInvalid, protocol.CodeConflict, protocol.CodeDiverged, protocol.CodeGap, protocol.CodeFenced:
		if p.batch && len(p.list) == 1 {
			return atIndex(err, 0)
		}
	}
	return err
}
