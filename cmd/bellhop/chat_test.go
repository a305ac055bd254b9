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
