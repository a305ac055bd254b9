package broker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"bellhop/broker/sequencer"
	"bellhop/protocol"
)

// Verification is the result of comparing the journal of one session with the
// database. All numbers are of events.
type Verification struct {
	SessionID string `json:"sessionId"`
	Journal   int64  `json:"journal"`          // in the journal
	Stored    int64  `json:"stored"`           // of these, in the database with the same content
	Late      int64  `json:"late"`             // of these, stored without effects because their epoch was over
	Pending   int64  `json:"pending"`          // of these, not acknowledged yet and not in the database
	Pruned    int64  `json:"pruned,omitempty"` // of those stored, without their body: retention removed it
	// Superseded events are in the database alone: the journal was lost or restored from an older copy.
	Superseded int64 `json:"superseded"`

	Missing   int64 `json:"missing"`   // acknowledged, and not in the database
	Different int64 `json:"different"` // in the database with other content
	Holes     int64 `json:"holes"`     // positions that the journal skips
	Invented  int64 `json:"invented"`  // in the database alone, between events of the journal
	Messages  int64 `json:"messages"`  // texts without a message of the same text, in the same order

	Unknown bool   `json:"unknown,omitempty"` // the broker has no such task
	First   string `json:"first,omitempty"`   // the first difference
	Error   string `json:"error,omitempty"`   // why it could not be compared
}

// OK reports whether journal and database agree.
func (v *Verification) OK() bool { return v.Error == "" && !v.Differs() }

// Differs reports whether a difference was found, also if not everything could be compared.
func (v *Verification) Differs() bool {
	return v.Unknown || v.Missing+v.Different+v.Holes+v.Invented+v.Messages > 0
}

// Verifier compares journals with the database, event by event. It reads both in the
// order of positions and keeps nothing but the present page.
type Verifier struct{ Store VerifyStore }

// VerifyStore reads the events and texts of a task in pages.
type VerifyStore interface {
	// Cursors are those of the tasks that exist, deleted ones too.
	Cursors(ctx context.Context, taskIDs []string) (map[string]protocol.Cursor, error)
	// PositionedEvents are the events with effects after a position, ascending, with
	// their bodies.
	PositionedEvents(ctx context.Context, taskID string, after protocol.Cursor, limit int) ([]StoredEvent, error)
	// KnownEvents are the stored events with one of these ids.
	KnownEvents(ctx context.Context, taskID string, ids []string) ([]StoredEvent, error)
	// Texts are the messages of text events after a display position, ascending.
	Texts(ctx context.Context, taskID string, after int64, limit int) ([]StoredText, error)
}

// StoredText is the message of a text event.
type StoredText struct {
	Seq     int64
	EventID string
	Text    string
	OfEvent bool // the message has no text of its own: it is in the event's row
}

const verifyPage = 500

var errUnreadable = errors.New("the journal has an event that cannot be read")

// Session compares the journal of a session. The broker has acknowledged the events
// up to acknowledged; this must have been read before the journal.
func (f *Verifier) Session(
	ctx context.Context, sessionID string, acknowledged protocol.Cursor, journal iter.Seq2[json.RawMessage, error],
) *Verification {
	c := &comparison{store: f.Store, acknowledged: acknowledged, v: &Verification{SessionID: sessionID}}
	switch err := c.run(ctx, journal); {
	case errors.Is(err, errUnreadable):
		c.v.Different, c.v.First = c.v.Different+1, cmp.Or(c.v.First, err.Error())
	case err != nil:
		c.v.Error = err.Error()
	}
	return c.v
}

// comparison is a Session in progress.
type comparison struct {
	store        VerifyStore
	acknowledged protocol.Cursor
	v            *Verification

	rows     []StoredEvent   // the page of the database, from the next one on
	position protocol.Cursor // of the row before it
	ended    bool
	last     protocol.Cursor // of the journal
	texts    []StoredText
	textSeq  int64
	noTexts  bool // a message is missing, so the following ones cannot be assigned
}

func (c *comparison) run(ctx context.Context, journal iter.Seq2[json.RawMessage, error]) error {
	known, err := c.store.Cursors(ctx, []string{c.v.SessionID})
	if err != nil {
		return err
	}
	_, exists := known[c.v.SessionID]
	c.v.Unknown = !exists
	for raw, err := range journal {
		if err != nil {
			return fmt.Errorf("read the journal: %w", err)
		}
		if err := c.event(ctx, raw); err != nil {
			return err
		}
	}
	return nil
}

// entry is an event of the journal.
type entry struct {
	raw  json.RawMessage
	id   string
	kind protocol.EventType
	at   protocol.Cursor
	text *string // nil: it was not read
}

// read reads an event of the journal. One that is the next row of the database byte for byte was
// checked when the broker stored it, so only its place is read.
func (c *comparison) read(ctx context.Context, raw json.RawMessage) (*entry, error) {
	row, err := c.next(ctx)
	if err != nil {
		return nil, err
	}
	if row != nil && bytes.Equal(row.Body, raw) {
		h, ok := protocol.ReadHead(raw)
		if ok && string(h.EventID) == row.EventID {
			at := protocol.Cursor{Epoch: h.Epoch, Seq: h.Seq}
			return &entry{raw: raw, id: row.EventID, kind: protocol.EventType(h.Type), at: at}, nil
		}
	}
	e, err := protocol.ParseEvent(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	text := ""
	if e.Text != nil {
		text = *e.Text
	}
	return &entry{raw: raw, id: e.EventID, kind: e.Type, at: protocol.Cursor{Epoch: e.Epoch, Seq: e.Seq}, text: &text}, nil
}

// content returns the event's text, "" if it has none.
func (e *entry) content() (string, error) {
	if e.text == nil {
		full, err := protocol.ParseEvent(e.raw)
		if err != nil {
			return "", err
		}
		e.text = full.Text
		if e.text == nil {
			e.text = new(string)
		}
	}
	return *e.text, nil
}

func (c *comparison) event(ctx context.Context, raw json.RawMessage) error {
	e, err := c.read(ctx, raw)
	if err != nil {
		return err
	}
	at := e.at
	c.v.Journal++
	if !follows(c.last, at) {
		c.differ(&c.v.Holes, e, "the journal skips positions before it")
	}
	row, err := c.rowAt(ctx, at)
	c.last = at
	switch {
	case err != nil:
		return err
	case c.v.Unknown:
		return nil
	case row == nil:
		return c.absent(ctx, e, at)
	}
	same, err := c.hasContent(row, raw)
	if err != nil {
		return err
	}
	if row.EventID != e.id || !same {
		c.differ(&c.v.Different, e, "the database has other content")
		return nil
	}
	c.v.Stored++
	return c.text(ctx, e)
}

// hasContent reports whether a row has the content of an event, or had it until retention removed its body.
func (c *comparison) hasContent(row *StoredEvent, raw json.RawMessage) (bool, error) {
	if row.Body == nil {
		c.v.Pruned++
		return true, nil
	}
	return sameEvent(row.Body, raw)
}

// sameEvent reports whether two events have the same content. Most are equal byte for
// byte, which saves the digests.
func sameEvent(a, b json.RawMessage) (bool, error) {
	if bytes.Equal(a, b) {
		return true, nil
	}
	digestA, errA := sequencer.Digest(a)
	digestB, errB := sequencer.Digest(b)
	return digestA == digestB, errors.Join(errA, errB)
}

func follows(last, next protocol.Cursor) bool {
	return last.Epoch == next.Epoch && next.Seq == last.Seq+1 || last.Epoch < next.Epoch && next.Seq == 1
}

func (c *comparison) differ(count *int64, e *entry, why string) {
	if *count++; c.v.First == "" {
		c.v.First = fmt.Sprintf("event %s at %v (%s): %s", e.id, e.at, e.kind, why)
	}
}

// next returns the next row of the database, nil at its end.
func (c *comparison) next(ctx context.Context) (*StoredEvent, error) {
	if len(c.rows) == 0 && !c.ended {
		rows, err := c.store.PositionedEvents(ctx, c.v.SessionID, c.position, verifyPage)
		if err != nil {
			return nil, err
		}
		c.rows, c.ended = rows, len(rows) == 0
	}
	if c.ended {
		return nil, nil
	}
	return &c.rows[0], nil
}

// rowAt returns the stored event at a position of the journal, nil if there is none.
// It counts the rows before it.
func (c *comparison) rowAt(ctx context.Context, at protocol.Cursor) (*StoredEvent, error) {
	for {
		row, err := c.next(ctx)
		if row == nil || err != nil {
			return nil, err
		}
		position := protocol.Cursor{Epoch: row.Epoch, Seq: row.Seq}
		if at.Less(position) {
			return nil, nil
		}
		c.rows, c.position = c.rows[1:], position
		if position == at {
			return row, nil
		}
		// Invented: the journal has later events of the row's epoch. Superseded: the journal's copy of
		// that epoch ended before the row.
		if position.Epoch == at.Epoch {
			c.v.Invented++
		} else {
			c.v.Superseded++
		}
	}
}

// absent handles an event that the database does not have at its position.
func (c *comparison) absent(ctx context.Context, e *entry, at protocol.Cursor) error {
	if c.acknowledged.Less(at) {
		c.v.Pending++
		return nil
	}
	known, err := c.store.KnownEvents(ctx, c.v.SessionID, []string{e.id})
	if err != nil {
		return err
	}
	if len(known) > 0 && known[0].Late {
		c.v.Late++
		return nil
	}
	c.differ(&c.v.Missing, e, "it was acknowledged and is not in the database")
	return nil
}

// text finds the message of a text event behind those of the earlier ones. The text is read only
// if the message has one of its own, or if there is none.
func (c *comparison) text(ctx context.Context, e *entry) error {
	if e.kind != protocol.EventText || c.noTexts {
		return nil
	}
	for {
		m, err := c.nextText(ctx)
		if err != nil {
			return err
		}
		if m != nil && m.EventID == e.id && m.OfEvent {
			c.skipText()
			return nil
		}
		text, err := e.content()
		switch {
		case text == "" || err != nil:
			return err
		case m == nil:
			c.noTexts = true
			c.differ(&c.v.Messages, e, "its message is missing, or is out of order")
			return nil
		case m.EventID != e.id: // of an event that is in the database alone
			c.skipText()
			continue
		case m.Text != text:
			c.differ(&c.v.Messages, e, "its message has another text")
		}
		c.skipText()
		return nil
	}
}

// nextText returns the next message of a text event, nil at the end.
func (c *comparison) nextText(ctx context.Context) (*StoredText, error) {
	if len(c.texts) == 0 {
		texts, err := c.store.Texts(ctx, c.v.SessionID, c.textSeq, verifyPage)
		if len(texts) == 0 || err != nil {
			return nil, err
		}
		c.texts = texts
	}
	return &c.texts[0], nil
}

func (c *comparison) skipText() { c.texts, c.textSeq = c.texts[1:], c.texts[0].Seq }
