package inbound

import (
	"errors"
	"io"
	"net/http"

	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// readBody reads a JSON body up to its cap. An incomplete body is CodeUnavailable, because a
// host would drop the event after a 400.
func readBody(c echo.Context) ([]byte, error) {
	raw, err := httpapi.ReadBody(c, protocol.MaxWebhookBody)
	switch protocol.CodeOf(err) {
	case protocol.CodeUnsupportedMedia:
		drain(c.Request())
	case protocol.CodeInvalid:
		return nil, &protocol.Error{
			Code: protocol.CodeUnavailable, Message: "The body did not arrive whole", RetryAfter: 1, Err: err,
		}
	}
	return raw, err
}

func drain(r *http.Request) { _, _ = io.CopyN(io.Discard, r.Body, protocol.MaxWebhookBody) }

// postedEvents are the events of one body.
type postedEvents struct {
	list  []broker.Inbound
	batch bool
}

// parseBody reads one event, or a batch: an object with events and without type. Every session
// id in it must be the token's.
func parseBody(raw []byte, taskID string) (postedEvents, error) {
	body, err := protocol.SplitObject(raw)
	if err != nil {
		return postedEvents{}, err
	}
	if body.Has("events") && !body.Has("type") {
		list, err := parseBatch(body, taskID)
		return postedEvents{list: list, batch: true}, err
	}
	event, err := body.Event()
	if err != nil {
		return postedEvents{}, err
	}
	if event.SessionID != taskID {
		return postedEvents{}, errMismatch
	}
	return postedEvents{list: []broker.Inbound{{Raw: raw, Event: event}}}, nil
}

func parseBatch(body protocol.Object, taskID string) ([]broker.Inbound, error) {
	batch, err := body.Batch()
	if err != nil {
		return nil, err
	}
	switch {
	case batch.SessionID != taskID:
		return nil, errMismatch
	case len(batch.Events) == 0:
		return nil, protocol.Errorf(protocol.CodeInvalid, "events holds no event")
	case len(batch.Events) > protocol.MaxWebhookEvents:
		// 413, not 400: a host reacts with smaller batches and loses nothing.
		return nil, protocol.Errorf(protocol.CodeTooLarge, "events holds more than %d events", protocol.MaxWebhookEvents)
	}
	list := make([]broker.Inbound, len(batch.Events))
	for i, one := range batch.Events {
		event, err := protocol.ParseChecked(one)
		if err == nil && event.SessionID != "" && event.SessionID != taskID {
			err = errMismatch
		}
		if err != nil {
			return nil, atIndex(err, i)
		}
		list[i] = broker.Inbound{Raw: one, Event: event}
	}
	broker.AttachPrompts(list, batch.Prompts)
	return list, nil
}

// errMismatch refuses the request, not an event of it.
var errMismatch = protocol.Errorf(protocol.CodeInvalid, "Session ID mismatch")

func atIndex(err error, i int) error {
	var known *protocol.Error
	if !errors.As(err, &known) {
		return err
	}
	indexed := *known
	indexed.Index = &i
	return &indexed
}

// withIndex adds the index to an error about the only event of a batch. The domain adds it for
// larger batches, but a batch of one looks to it like a single event.
func (p postedEvents) withIndex(err error) error {
	switch protocol.CodeOf(err) {
	case protocol.CodeInvalid, protocol.CodeConflict, protocol.CodeDiverged, protocol.CodeGap, protocol.CodeFenced,
		protocol.CodeUnverified:
		if p.batch && len(p.list) == 1 {
			return atIndex(err, 0)
		}
	}
	return err
}
