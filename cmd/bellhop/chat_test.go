package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"bellhop/client"
	"bellhop/protocol"
)

// A basic host has no route to interrupt: it stops when the reader of its stream leaves. One
// Ctrl-C is enough, and the broker has ended the turn.
func TestOneInterruptLeavesTheStreamOfABasicHost(t *testing.T) {
	signals, left := make(chan os.Signal, 1), make(chan struct{})
	broker := startChatBroker(t)
	broker.prompted = func(w http.ResponseWriter, r *http.Request, _ *protocol.PromptRequest) {
		defer close(left)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"type\":\"text-delta\",\"id\":\"a\",\"text\":\"working\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		signals <- os.Interrupt
		<-r.Context().Done()
	}

	var stdout, stderr bytes.Buffer
	code := run(context.Background(), signals, broker.chatArgs("-m", "go"), strings.NewReader(""), &stdout, &stderr)
	<-left
	if got := stdout.String(); code != 1 || !strings.HasSuffix(got, "interrupted\n") {
		t.Errorf("exit %d, %q\n%s", code, got, stderr.String())
	}
}

// The stream of a basic host need not say how its turn ended.
func TestChatExitsAsTheTasksTurnEnded(t *testing.T) {
	closed := func(http.ResponseWriter) {}
	cut := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	aborted := func(w http.ResponseWriter) { _, _ = io.WriteString(w, "data: {\"type\":\"abort\"}\n\n") }
	done := &protocol.LastTurn{ID: "turn", FinishReason: protocol.FinishStop}
	earlier := &protocol.LastTurn{ID: "other", FinishReason: protocol.FinishStop}
	failed := &protocol.LastTurn{ID: "turn", FinishReason: protocol.FinishOther}
	for name, c := range map[string]struct {
		end  func(http.ResponseWriter)
		last *protocol.LastTurn
		want int
		says string
	}{
		"closed, and done":              {closed, done, 0, "answer"},
		"cut, and done":                 {cut, done, 0, "stream was cut"},
		"aborted, and done before":      {aborted, done, 0, "answer"},
		"closed without an end":         {closed, nil, 1, "answer"},
		"cut without an end":            {cut, nil, 1, "answer"},
		"closed, and an earlier is":     {closed, earlier, 1, "answer"},
		"closed, and it ended too soon": {closed, failed, 1, "answer"},
	} {
		t.Run(name, func(t *testing.T) {
			broker := startChatBroker(t)
			broker.lastTurn = c.last
			broker.prompted = func(w http.ResponseWriter, _ *http.Request, _ *protocol.PromptRequest) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: {\"type\":\"text-delta\",\"id\":\"a\",\"text\":\"answer\"}\n\n")
				_ = http.NewResponseController(w).Flush()
				c.end(w)
			}
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), nil, broker.chatArgs("-m", "go"), strings.NewReader(""), &stdout, &stderr)
			if got := stdout.String(); code != c.want || !strings.Contains(got, c.says) {
				t.Errorf("exit %d, %q\n%s", code, got, stderr.String())
			}
		})
	}
}

func TestChatShowsTheLevelOfAPermission(t *testing.T) {
	var out bytes.Buffer
	turn := &turnView{chat: &chat{screen: &screen{out: &out}}, shown: map[string]bool{}}
	turn.apply(t.Context(), client.Event{Part: &protocol.Part{
		Type: protocol.PartToolApprovalRequest, ApprovalID: "a", ToolCall: &protocol.ToolCall{ToolName: "rm"},
		SecurityWarning: &protocol.SecurityWarning{Level: "CRITICAL", Message: "It deletes\x1b[2J."},
	}})
	if got := out.String(); !strings.Contains(got, "CRITICAL It deletes") || strings.Contains(got, "\x1b") ||
		!strings.Contains(got, "Allow rm?") {
		t.Errorf("shown %q", got)
	}
}
