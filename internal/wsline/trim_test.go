package wsline

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"bellhop/protocol"
)

// shown returns the lines that are replayed to a new client.
func shown(t *testing.T, h *Hub) (out []string) {
	t.Helper()
	w, err := h.Watch(false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Leave()
	for {
		raw, _ := w.take()
		if raw == nil {
			return out
		}
		line, err := protocol.ParseLine(raw)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, line.Type+line.ID+line.RequestID)
	}
}

func TestAFullTranscriptKeepsTheNewestLinesAndOpenQuestions(t *testing.T) {
	t.Parallel()
	h := NewHub(Limits{Transcript: 1000}, time.Now)
	h.Publish(protocol.Line{Type: protocol.LineConfirm, RequestID: "q", Prompt: "?"})
	for i := range 100 {
		h.Publish(protocol.Line{Type: protocol.LineToolStart, ID: fmt.Sprint(i), Name: "t"})
		h.Trim()
	}
	got := shown(t, h)
	if len(got) > 30 || got[0] != "confirmq" || got[len(got)-1] != "tool_start99" {
		t.Errorf("shown: %q", got)
	}
	if h.Status().Full {
		t.Error("it is full all the same")
	}
	h.QuestionClosed("q")
	if got := shown(t, h); slices.Contains(got, "confirmq") {
		t.Errorf("an answered question is shown: %q", got)
	}
}

func TestForgetDropsOnlyFinishedTurns(t *testing.T) {
	t.Parallel()
	h := NewHub(Limits{}, time.Now)
	h.Publish(protocol.Line{Type: protocol.LineToolStart, ID: "1", Name: "t"})
	h.Forget()
	if got := shown(t, h); !slices.Equal(got, []string{"tool_start1"}) {
		t.Errorf("during a turn: %q", got)
	}
	h.Publish(protocol.Line{Type: protocol.LineState, State: protocol.StateWaitingForInput, Reason: protocol.WaitingDone})
	h.Forget()
	if got := len(h.History()); got != 0 {
		t.Errorf("%d lines are kept", got)
	}
}
