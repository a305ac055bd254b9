package conformance

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"bellhop/protocol"
)

func checkBasicPassword(s *scope, b *basicServer) {
	body := `{"sessionId":"conformance-none","webhookUrl":"` + b.hook + `/webhook"}`
	wrong := map[string][]string{"no password": nil, "another password": {"Authorization: Bearer wrong"}}
	for what, header := range wrong {
		a := b.call(s, http.MethodPost, "/session", body, header...)
		if a.status != http.StatusUnauthorized && a.status != http.StatusForbidden {
			s.failf("with %s, POST /session answers %s: anyone could run the agent", what, a)
		}
	}
}

func checkBasicSession(s *scope, b *basicServer) {
	id := "conformance-" + protocol.NewID()
	first, second := b.open(s, id), b.open(s, id)
	if first == second {
		s.failf("two calls of /session give the same token: a leaked one would be valid forever")
	}
}

func checkBasicToken(s *scope, b *basicServer) {
	id, other := "conformance-"+protocol.NewID(), "conformance-"+protocol.NewID()
	_, foreign := b.open(s, id), b.open(s, other)
	foreign = url.QueryEscape(foreign)
	wrong := map[string]string{
		"no token": "", "an unknown token": "?token=x", "another session's token": "?token=" + foreign,
	}
	for what, query := range wrong {
		if a := b.call(s, http.MethodPost, "/stream/"+id+query, `{"prompt":"x"}`); a.status < 400 || a.status >= 500 {
			s.failf("with %s, POST /stream/:id answers %d: anyone could read and prompt", what, a.status)
		}
	}
}

func checkBasicCORS(s *scope, b *basicServer) {
	const origin = "https://conformance.invalid"
	id := "conformance-" + protocol.NewID()
	a := b.call(s, http.MethodOptions, "/stream/"+id+"?token="+url.QueryEscape(b.open(s, id)), "",
		"Origin: "+origin, "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type")
	if strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
		s.failf("OPTIONS /stream starts the agent, so each prompt of a page is answered twice; answer it with an empty body")
		return
	}
	allowed := a.header.Get("Access-Control-Allow-Origin")
	headers := strings.ToLower(a.header.Get("Access-Control-Allow-Headers"))
	mayStream := (allowed == "*" || allowed == origin) && (headers == "*" || strings.Contains(headers, "content-type"))
	if a.status/100 != 2 || !mayStream {
		s.skip("pages of unknown origins may not stream; " +
			"they go through the broker (relay), unless the server allows their origin")
	}
}

func checkBasicStream(s *scope, b *basicServer) {
	_, parts := b.turn(s)
	terminal := 0
	for i := range parts {
		if parts[i].Terminal() {
			terminal++
		}
	}
	switch {
	case len(parts) == 0:
		s.failf("the stream has no parts")
	case terminal != 1:
		s.failf("the stream has %d parts of type finish, abort or error, and must have one", terminal)
	case !parts[len(parts)-1].Terminal():
		s.failf("the last part is %s, not finish, abort or error", parts[len(parts)-1].Type)
	case parts[len(parts)-1].Type != protocol.PartFinish:
		s.failf("the turn ended with %s: give another prompt with --prompt", parts[len(parts)-1].Type)
	case streamedText(parts) == "":
		s.failf("the stream has no text: text-start, text-delta {id, text}, text-end")
	}
}

// streamedText joins the texts of a stream.
func streamedText(parts []protocol.Part) string {
	var text strings.Builder
	for i := range parts {
		if parts[i].Type == protocol.PartTextDelta && parts[i].Text != nil {
			text.WriteString(*parts[i].Text)
		}
	}
	return text.String()
}

// expectText waits until the webhook has got what was streamed, and reports what it has got instead.
func (b *basicServer) expectText(s *scope, id, what, streamed string, holds func(posted string) bool) []protocol.Event {
	events, complete := b.until(s, id, what, func(events []protocol.Event) bool { return holds(postedText(events)) })
	posted := postedText(events)
	switch {
	case !complete && posted == "":
		s.stopf("%s was not posted to the webhook within %s", what, b.options.Patience)
	case posted != streamed:
		s.failf("%s: what users see after a reload differs", textDifference(streamed, posted))
	}
	return events
}

// textDifference shows two texts from shortly before the place at which they differ.
func textDifference(streamed, posted string) string {
	const before, after = 40, 160
	a, b, same := []rune(streamed), []rune(posted), 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	part := func(text []rune) string {
		from, to := max(0, same-before), min(len(text), same+after)
		start, end := "", ""
		if from > 0 {
			start = "…"
		}
		if to < len(text) {
			end = "…"
		}
		return start + string(text[from:to]) + end
	}
	return fmt.Sprintf("streamed is %q, posted is %q", part(a), part(b))
}

// postedText joins the posted texts.
func postedText(events []protocol.Event) string {
	var text strings.Builder
	for i := range events {
		if events[i].Type == protocol.EventText && events[i].Text != nil {
			text.WriteString(*events[i].Text)
		}
	}
	return text.String()
}

func checkBasicTexts(s *scope, b *basicServer) {
	id, parts := b.turn(s)
	text := streamedText(parts)
	events := b.expectText(s, id, "the streamed text", text, func(posted string) bool { return len(posted) >= len(text) })
	for i := range parts {
		call := parts[i].ToolCallID
		isPosted := slices.ContainsFunc(events, func(e protocol.Event) bool { return e.ToolCallID == call })
		if parts[i].Type == protocol.PartToolCall && !isPosted {
			s.failf("the tool call %s was streamed, and not posted", call)
		}
	}
}

func checkBasicFinish(s *scope, b *basicServer) {
	id, parts := b.turn(s)
	text := streamedText(parts)
	finish := func(events []protocol.Event) bool {
		return slices.ContainsFunc(events, func(e protocol.Event) bool { return e.Type == protocol.EventFinish })
	}
	events, complete := b.until(s, id, "the streamed text", func(events []protocol.Event) bool {
		return finish(events) || len(postedText(events)) >= len(text)
	})
	if !complete && len(events) == 0 {
		s.stopf("nothing of the turn was posted to the webhook within %s", b.options.Patience)
	}
	if !finish(events) {
		s.skip("no finish event came with the text: a turn whose stream is not read to its end " +
			"ends at the next message, or after 15 minutes")
	}
}

func checkBasicRetry(s *scope, b *basicServer) {
	b.mu.Lock()
	b.refusals = 1
	b.mu.Unlock()
	s.later(func() {
		b.mu.Lock()
		b.refusals = 0
		b.mu.Unlock()
	})
	id, parts := b.turn(s)
	text := streamedText(parts)
	b.expectText(s, id, "the text, whose first post was answered with 503,", text, func(posted string) bool {
		return posted == text
	})
}

func checkBasicAgain(s *scope, b *basicServer) {
	id := "conformance-" + protocol.NewID()
	for range 2 {
		parts := b.parts(s, b.prompt(s, id, b.open(s, id))) //nolint:bodyclose // as in call
		if streamedText(parts) == "" {
			s.failf("a turn has no text")
		}
	}
}

func checkBasicLeave(s *scope, b *basicServer) {
	id := "conformance-" + protocol.NewID()
	resp := b.prompt(s, id, b.open(s, id))
	for seen := []byte{}; !bytes.Contains(seen, []byte("text-")); {
		piece := make([]byte, 256)
		n, err := resp.Body.Read(piece)
		if seen = append(seen, piece[:n]...); err != nil {
			s.stopf("the stream ended before its first text: %v", unquoted(err))
		}
	}
	_ = resp.Body.Close()
	if _, parts := b.turn(s); streamedText(parts) == "" {
		s.failf("after a reader left, the next turn has no text")
	}
}
