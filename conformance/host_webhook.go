package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"bellhop/protocol"
)

// playTurn runs a complete turn and returns its frames and its posted events.
func (h *host) playTurn(s *scope, one *session) ([]frame, []posted) {
	frames := h.prompt(s, one, h.options.Plain).rest()
	if len(frames) == 0 || frames[len(frames)-1].part.Event == nil {
		s.stopf("the stream names no event at its end")
	}
	h.awaitAll(s, one, frames)
	return frames, h.receiver.until(s, one.id, h.options.Patience, "the finish", finished(one.turn))
}

// awaitAll waits for the events that the stream announced and reports a missing one.
func (h *host) awaitAll(s *scope, one *session, frames []frame) {
	for _, f := range frames {
		if e := f.part.Event; e != nil {
			h.receiver.until(s, one.id, h.options.Patience,
				fmt.Sprintf("event %d of the stream's %s (%s)", e.Seq, f.part.Type, e.ID), func(events []posted) bool {
					return slices.ContainsFunc(events, func(p posted) bool { return p.EventID == e.ID })
				})
		}
	}
}

func checkWebhook(s *scope, h *host) {
	one := h.open(s)
	frames, events := h.playTurn(s, one)
	checkDense(s, events)
	checkTexts(s, frames, events)
	finishes := 0
	byID := map[string]posted{}
	for _, e := range events {
		byID[e.EventID] = e
		if e.Type == protocol.EventFinish {
			finishes++
		}
		if e.SessionID != one.id || e.TurnID != one.turn {
			s.failf("%s %d-%d is of session %q, turn %q", e.Type, e.Epoch, e.Seq, e.SessionID, e.TurnID)
		}
	}
	if finishes != 1 {
		s.failf("%d finish events were posted", finishes)
	}
	for _, f := range frames {
		e := f.part.Event
		if e == nil {
			continue
		}
		if p := byID[e.ID]; p.Seq != e.Seq || p.TurnID != e.TurnID || !matches(f.part.Type, p.Type) {
			s.failf("the stream's %s names event %s as seq %d; posted was %s with seq %d", f.part.Type, e.ID, e.Seq,
				p.Type, p.Seq)
		}
	}
	t := h.receiver.task(one.id)
	h.receiver.mu.Lock()
	defer h.receiver.mu.Unlock()
	for _, trouble := range t.trouble {
		s.failf("%s", trouble)
	}
	for _, gap := range t.gaps {
		s.failf("out of order: %s", gap)
	}
}

func checkDense(s *scope, events []posted) {
	for i, e := range events {
		if i > 0 && e.Epoch == events[i-1].Epoch && e.Seq != events[i-1].Seq+1 || i == 0 && e.Seq != 1 {
			s.failf("event %d is %d-%d: a hole", i+1, e.Epoch, e.Seq)
		}
	}
}

// matches reports whether a part may announce an event.
func matches(part string, event protocol.EventType) bool {
	switch part {
	case protocol.PartTextEnd:
		return event == protocol.EventText
	case protocol.PartToolCall:
		return event == protocol.EventToolCall
	case protocol.PartToolResult, protocol.PartToolError, protocol.PartToolOutputDenied:
		return event == protocol.EventToolResult
	case protocol.PartFinish, protocol.PartAbort, protocol.PartError:
		return event == protocol.EventFinish
	}
	return event == protocol.EventInteraction
}

// checkTexts compares the text of the stream with that of the events.
func checkTexts(s *scope, frames []frame, events []posted) {
	text := map[string]*strings.Builder{}
	for _, f := range frames {
		switch f.part.Type {
		case protocol.PartTextStart:
			text[f.part.ID] = &strings.Builder{}
		case protocol.PartTextDelta:
			if b := text[f.part.ID]; b != nil && f.part.Text != nil {
				b.WriteString(*f.part.Text)
			}
		case protocol.PartTextEnd:
			i := slices.IndexFunc(events, func(e posted) bool { return f.part.Event != nil && e.EventID == f.part.Event.ID })
			if b := text[f.part.ID]; b != nil && i >= 0 && (events[i].Text == nil || *events[i].Text != b.String()) {
				s.failf("the stream had %q, posted was %s", brief(b.String()), brief(string(events[i].raw)))
			}
		}
	}
	if len(text) == 0 {
		s.failf("the turn has no text")
	}
}

func checkStatuses(s *scope, h *host) {
	one := h.open(s)
	h.playTurn(s, one)
	events := h.receiver.until(s, one.id, h.options.Patience, "status idle after the finish", func(events []posted) bool {
		finish := slices.IndexFunc(events, func(e posted) bool { return e.Type == protocol.EventFinish })
		return finish >= 0 &&
			slices.ContainsFunc(events[finish:], func(e posted) bool { return e.Status == protocol.StatusIdle })
	})
	busy := slices.IndexFunc(events, func(e posted) bool { return e.Status == protocol.StatusBusy })
	if other := slices.IndexFunc(events, func(e posted) bool { return e.Type != protocol.EventStatus }); busy < 0 ||
		busy > other {
		s.failf("the turn does not begin with status busy: %s", listed(events))
	}
	h.refresh(s, one, nil)
	if one.Status != protocol.StatusIdle || one.OpenTurn != "" {
		s.failf("POST /session after the turn says status %q, openTurn %q", one.Status, one.OpenTurn)
	}
	a := h.owner(s, http.MethodGet, "/status", "")
	s.expect("GET /status", a, 200, "")
	if !bytes.Contains(a.body, []byte(one.id)) {
		s.failf("GET /status does not name the session")
	}
	s.expect("GET /status without the password", h.call(s, call{method: http.MethodGet, path: "/status"}), 401,
		protocol.CodeUnauthorized)
}

func checkEvents(s *scope, h *host) {
	one := h.open(s)
	_, events := h.playTurn(s, one)
	var got []json.RawMessage
	for after := int64(0); ; {
		a := h.owner(s, http.MethodGet,
			fmt.Sprintf("/session/%s/events?epoch=%d&after=%d&limit=3", one.id, events[0].Epoch, after), "")
		var page protocol.EventsResponse
		if err := json.Unmarshal(a.body, &page); err != nil || a.status != http.StatusOK {
			s.stopf("GET /session/:id/events: %s", a)
		}
		got = append(got, page.Events...)
		if page.NextAfter <= after && len(page.Events) > 0 || len(page.Events) > 3 {
			s.stopf("a page of 3 after %d has %d events and nextAfter %d", after, len(page.Events), page.NextAfter)
		}
		if after = page.NextAfter; len(page.Events) < 3 {
			break
		}
	}
	for i, e := range events {
		if i >= len(got) {
			s.stopf("events returned %d events, posted were %d; the first missing one is %d-%d %s", len(got), len(events),
				e.Epoch, e.Seq, e.Type)
		}
		if !sameJSON(got[i], e.raw) {
			s.failf("event %d-%d differs: returned was %s, posted was %s", e.Epoch, e.Seq,
				brief(string(got[i])), brief(string(e.raw)))
		}
	}
}

func sameJSON(a, b []byte) bool {
	x, err1 := protocol.Canonical(a)
	y, err2 := protocol.Canonical(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

func checkRetry(s *scope, h *host) {
	one := h.open(s)
	t := h.receiver.task(one.id)
	h.receiver.mu.Lock()
	t.refusals = 2
	h.receiver.mu.Unlock()
	frames, events := h.playTurn(s, one)
	checkDense(s, events)
	checkTexts(s, frames, events)
}

func checkGap(s *scope, h *host) {
	one := h.open(s)
	h.playTurn(s, one)
	t := h.receiver.task(one.id)
	h.receiver.mu.Lock()
	t.rewind = true
	h.receiver.mu.Unlock()
	h.refresh(s, one, nil)
	_, events := h.playTurn(s, one)
	checkDense(s, events)
	h.receiver.mu.Lock()
	defer h.receiver.mu.Unlock()
	if !t.resent {
		s.failf("after 409 gap with the cursor {epoch,0} the first event was not posted again")
	}
}
