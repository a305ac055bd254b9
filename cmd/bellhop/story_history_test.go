package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"bellhop/protocol"
)

// compareHistory waits until the host's journal and the broker's history of $task
// are equal: every final text and every tool use, once, in the same order.
func compareHistory(ts *testscript.TestScript, neg bool, args []string) {
	checkUsage(ts, "compare-history", neg, len(args) == 0)
	w, task := stateOf(ts), ts.Getenv("task")
	for limit := time.Now().Add(conditionTimeout); ; time.Sleep(20 * time.Millisecond) {
		journaled, err := w.hostHistory(ts, task)
		ts.Check(err)
		kept, err := w.brokerHistory(ts, task)
		ts.Check(err)
		if journaled == kept && strings.Contains(kept, "finish") {
			_, _ = fmt.Fprint(ts.Stdout(), kept)
			return
		}
		if time.Now().After(limit) {
			ts.Fatalf("the journal has\n%s\nthe history has\n%s", journaled, kept)
		}
	}
}

// hostHistory lists the texts and tool uses of the host's journal.
func (w *storyState) hostHistory(ts *testscript.TestScript, task string) (string, error) {
	var page protocol.EventsResponse
	if err := w.getJSON(ts.Getenv("host")+"/session/"+task+"/events?limit=500", operator(ts), &page); err != nil {
		return "", err
	}
	var out strings.Builder
	last := ""
	for i, raw := range page.Events {
		e, err := protocol.ParseEvent(raw)
		if err != nil {
			return "", err
		}
		if e.Seq != int64(i+1) {
			return "", fmt.Errorf("event %d of the journal has seq %d", i+1, e.Seq)
		}
		switch e.Type {
		case protocol.EventText:
			_, _ = fmt.Fprintf(&out, "text %s %q\n", e.EventID, *e.Text)
		case protocol.EventToolCall:
			_, _ = fmt.Fprintf(&out, "tool %s %s\n", e.ToolName, e.ToolCallID)
		case protocol.EventFinish:
			last = fmt.Sprintf("finish %s %s %s\n", e.TurnID, e.FinishReason, e.Reason)
		}
	}
	return out.String() + last, nil
}

// brokerHistory lists the texts and tool uses that the broker returns.
func (w *storyState) brokerHistory(ts *testscript.TestScript, id string) (string, error) {
	base, token := ts.Getenv("broker")+"/api/tasks/"+id, ts.Getenv("token")
	var page protocol.MessageList
	var task protocol.Task
	if err := w.getJSON(base+"/messages?limit=500", bearer(token), &page); err != nil {
		return "", err
	}
	if err := w.getJSON(base, bearer(token), &task); err != nil {
		return "", err
	}
	var out strings.Builder
	for _, m := range page.Messages {
		if m.Role == protocol.RoleAssistant && m.Message != "" {
			_, _ = fmt.Fprintf(&out, "text %s %q\n", m.EventID, m.Message)
		}
		for _, artifact := range m.Artifacts {
			var use protocol.ToolUse
			if err := json.Unmarshal(artifact.Content, &use); err != nil {
				return "", err
			}
			_, _ = fmt.Fprintf(&out, "tool %s %s\n", use.ToolName, use.ToolCallID)
		}
	}
	if turn := task.LastTurn; turn != nil && task.OpenTurn == nil {
		_, _ = fmt.Fprintf(&out, "finish %s %s %s\n", turn.ID, turn.FinishReason, turn.Reason)
	}
	return out.String(), nil
}

func (w *storyState) getJSON(url string, header map[string]string, into any) error {
	status, answer, err := w.do(http.MethodGet, url, "", header)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("GET %s: %d %s", url, status, answer)
	}
	return json.Unmarshal([]byte(answer), into)
}
