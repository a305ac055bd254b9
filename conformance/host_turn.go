package conformance

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"bellhop/protocol"
)

func checkStream(s *scope, h *host) {
	one := h.open(s)
	st := h.prompt(s, one, h.options.Plain)
	frames := st.rest()
	checkIDs(s, frames)
	open := map[string]bool{}
	for i, f := range frames {
		if f.part.Terminal() != (i == len(frames)-1) {
			s.failf("part %d of %d is %s: a turn's stream ends in exactly one finish, abort or error", i+1,
				len(frames), f.part.Type)
		}
		switch f.part.Type {
		case protocol.PartTextStart:
			open[f.part.ID] = true
		case protocol.PartTextDelta:
			if !open[f.part.ID] {
				s.failf("a text-delta of block %q, which is not open", f.part.ID)
			}
		case protocol.PartTextEnd:
			delete(open, f.part.ID)
		}
		if completes(f.part.Type) && f.part.Event == nil {
			s.failf("part %d is %s and names no event", i+1, f.part.Type)
		}
	}
	if len(frames) == 0 {
		s.failf("the stream has no parts")
	}
	for id := range open {
		s.failf("text block %q is never closed", id)
	}
}

func completes(kind string) bool {
	switch kind {
	case protocol.PartTextEnd, protocol.PartToolCall, protocol.PartToolResult,
		protocol.PartToolError, protocol.PartToolOutputDenied,
		protocol.PartToolApprovalRequest, protocol.PartDataAsk, protocol.PartFinish, protocol.PartAbort, protocol.PartError:
		return true
	}
	return false
}

func checkIDs(s *scope, frames []frame) {
	var last protocol.StreamID
	for _, f := range frames {
		id, err := protocol.ParseStreamID(f.id)
		if err != nil {
			s.stopf("%s has the id %q, not <epoch>-<offset>", f.part.Type, f.id)
		}
		if id.Epoch < last.Epoch || id.Epoch == last.Epoch && id.Offset <= last.Offset {
			s.failf("id %s follows %s", id, last)
		}
		last = id
	}
}

func checkResume(s *scope, h *host) {
	one := h.open(s)
	st := h.prompt(s, one, h.options.Plain)
	frames := st.rest()
	if len(frames) < 3 {
		s.stopf("the turn has only %d parts", len(frames))
	}
	middle := len(frames) / 2
	again, a := h.attach(s, one, frames[middle].id)
	if again == nil {
		s.stopf("resuming after %s: %s", frames[middle].id, a)
	}
	got := again.rest()
	if len(got) == 0 || resumeResult(&got[0]) != protocol.ResumeOK {
		s.stopf("resuming after %s begins with %s, not with a data-resume ok", frames[middle].id, again)
	}
	if diff := difference(got[1:], frames[middle+1:]); diff != "" {
		s.failf("resuming after %s differs from what was streamed: %s", frames[middle].id, diff)
	}
	byQuery, a := h.read(s, call{
		method: http.MethodGet,
		path:   "/stream/" + one.id + "?token=" + url.QueryEscape(one.Token) + "&after=" + frames[middle].id,
	})
	if byQuery == nil {
		s.failf("?after= %s: %s", frames[middle].id, a)
	} else if diff := difference(byQuery.rest(), got); diff != "" {
		s.failf("?after= differs from Last-Event-ID: %s", diff)
	}
	_, end := h.attach(s, one, frames[len(frames)-1].id)
	s.expect("resuming after the last part", end, http.StatusNoContent, "")
	for _, unknown := range []string{"999-1", "nonsense"} {
		gap, a := h.attach(s, one, unknown)
		if gap == nil {
			s.failf("resuming after the unknown id %s: %s", unknown, a)
			continue
		}
		got := gap.rest()
		if len(got) < 2 || resumeResult(&got[0]) != protocol.ResumeGap || !got[len(got)-1].part.Terminal() {
			s.failf("resuming after the unknown id %s is not a gap and the turn rebuilt to its end: %s", unknown, gap)
		}
	}
}

func resumeResult(f *frame) string {
	for _, v := range []string{protocol.ResumeOK, protocol.ResumeGap} {
		if f.part.Type == protocol.PartDataResume && f.id == "" && bytes.Contains(f.part.Data, []byte(`"verdict":"`+v+`"`)) {
			return v
		}
	}
	return ""
}

// difference describes where two streams differ, "" if they are equal.
func difference(got, want []frame) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("%d parts are missing, the first is %s %s", len(want)-i, want[i].id, want[i].part.Type)
		case i >= len(want):
			return fmt.Sprintf("%d parts too many, the first is %s %s", len(got)-i, got[i].id, got[i].part.Type)
		case got[i].id != want[i].id || !bytes.Equal(got[i].raw, want[i].raw):
			return fmt.Sprintf("%s %s instead of %s %s", got[i].id, brief(string(got[i].raw)), want[i].id,
				brief(string(want[i].raw)))
		}
	}
	return ""
}

func checkReplay(s *scope, h *host) {
	one := h.open(s)
	frames := h.prompt(s, one, h.options.Plain).rest()
	again := h.prompt(s, one, "another prompt")
	if diff := difference(again.rest(), frames); diff != "" {
		s.failf("the second POST is no replay of the first: %s", diff)
	}
}

func checkDisconnect(s *scope, h *host) {
	one := h.open(s)
	st := h.prompt(s, one, h.options.Plain)
	st.next()
	_ = st.resp.Body.Close()
	for _, e := range h.receiver.until(s, one.id, h.options.Patience,
		"the finish of a turn whose reader left", finished(one.turn)) {
		if e.Type == protocol.EventFinish && e.FinishReason != protocol.FinishStop {
			s.failf("the turn ended with {%s, %s}", e.FinishReason, e.Reason)
		}
	}
}

func checkInterruptTurn(s *scope, h *host) {
	s.needs(h.options.Slow)
	one := h.open(s)
	st := h.prompt(s, one, h.options.Slow)
	slow := one.turn
	h.refresh(s, one, nil)
	if one.OpenTurn != slow || one.Status != protocol.StatusBusy || one.StreamCursor == nil {
		s.failf("POST /session during a turn says status %q, openTurn %q, streamCursor %v", one.Status,
			one.OpenTurn, one.StreamCursor)
	}
	a := h.call(s, call{
		http.MethodPost, "/stream/" + one.id + "?token=" + url.QueryEscape(one.Token), `{"prompt":"x"}`, nil,
	})
	s.expect("POST /stream for a second turn", a, http.StatusConflict, protocol.CodeBusy)
	s.confirmed("interrupt", h.call(s, call{
		http.MethodPost, "/session/" + one.id + "/interrupt?token=" + url.QueryEscape(one.Token), "", nil,
	}), one)
	if frames := st.rest(); len(frames) == 0 {
		s.failf("the interrupted stream has no end")
	} else if frames[len(frames)-1].part.Type != protocol.PartAbort {
		s.failf("the interrupted stream ends in %s, not in abort", frames[len(frames)-1].part.Type)
	}
	for _, e := range h.receiver.until(s, one.id, h.options.Patience,
		"the finish of the interrupted turn", finished(slow)) {
		if e.Type == protocol.EventFinish && e.TurnID == slow &&
			(e.FinishReason != protocol.FinishOther || e.Reason != protocol.ReasonAborted) {
			s.failf("finish is {%s, %s}, not {other, aborted}", e.FinishReason, e.Reason)
		}
	}
	s.confirmed("interrupt of an idle session", h.owner(s, http.MethodPost, "/session/"+one.id+"/interrupt", ""), one)
}

func checkInteraction(s *scope, h *host) {
	s.needs(h.options.Confirm)
	one := h.open(s)
	st := h.prompt(s, one, h.options.Confirm)
	for {
		f, more := st.next()
		if !more {
			s.stopf("the prompt %q made the agent ask nothing: give it another (see --help)", h.options.Confirm)
		}
		if f.part.Type == protocol.PartToolApprovalRequest {
			break
		}
	}
	id := st.frames[len(st.frames)-1].part.ApprovalID
	h.receiver.until(s, one.id, h.options.Patience, "the open interaction "+id, interaction(id, protocol.InteractionOpen))
	path := "/session/" + one.id + "/interactions/" + id + "?token=" + url.QueryEscape(one.Token)
	post := func(body string) *answer { return h.call(s, call{http.MethodPost, path, body, nil}) }
	s.confirmed("an answer", post(`{"approved":true}`), one)
	s.confirmed("the same answer again", post(`{"approved":true}`), one)
	s.expect("another answer", post(`{"approved":false}`), 409, protocol.CodeAnswered)
	unknown := strings.Replace(path, id, "unknown", 1)
	s.expect("an answer to nothing", h.call(s, call{
		http.MethodPost, unknown, `{"approved":true}`, nil,
	}), 404, protocol.CodeNotFound)
	st.until(protocol.PartFinish)
	h.receiver.until(s, one.id, h.options.Patience, "the resolved interaction "+id,
		interaction(id, protocol.InteractionResolved))
}

func interaction(id string, state protocol.InteractionState) func([]posted) bool {
	return func(events []posted) bool {
		for _, e := range events {
			if e.Type == protocol.EventInteraction && e.InteractionID == id && e.State == state {
				return true
			}
		}
		return false
	}
}
