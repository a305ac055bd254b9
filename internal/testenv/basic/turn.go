package basic

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// turn is the response to one prompt.
type turn struct {
	host      *Host
	w         http.ResponseWriter
	sessionID string
	webhook   string
	tools     int
}

func (t *turn) run(steps []Step) {
	usage := map[string]int{"inputTokens": 1, "outputTokens": 1}
	t.part(map[string]any{"type": "start"})
	for _, step := range steps {
		t.part(map[string]any{"type": "start-step", "request": map[string]any{}, "warnings": []any{}})
		t.text(step.Deltas)
		for _, tool := range step.Tools {
			t.tool(tool)
		}
		t.part(map[string]any{"type": "finish-step", "finishReason": "stop", "usage": usage})
	}
	t.part(map[string]any{"type": "finish", "finishReason": "stop", "totalUsage": usage})
}

func (t *turn) text(deltas []string) {
	const id = "text-1"
	complete := ""
	t.part(map[string]any{"type": "text-start", "id": id})
	for _, delta := range deltas {
		complete += delta
		t.part(map[string]any{"type": "text-delta", "id": id, "text": delta})
	}
	t.part(map[string]any{"type": "text-end", "id": id})
	t.post(map[string]any{"type": "text", "id": id, "text": complete})
}

func (t *turn) tool(tool Tool) {
	t.tools++
	id := fmt.Sprint("call-", t.tools)
	step := func(kind string, more map[string]any) map[string]any {
		more["type"], more["toolCallId"], more["toolName"] = kind, id, tool.Name
		return more
	}
	t.part(step("tool-call", map[string]any{"input": tool.Input}))
	t.post(step("tool-call", map[string]any{"input": tool.Input}))
	t.part(step("tool-result", map[string]any{"input": tool.Input, "output": tool.Output}))
	t.post(step("tool-result", map[string]any{"output": tool.Output}))
}

// part writes one frame as the AI SDK's servers do: with data, without id and name.
func (t *turn) part(part map[string]any) {
	data, err := json.Marshal(part)
	if err != nil {
		panic(err) // a script that cannot be encoded
	}
	_, _ = fmt.Fprintf(t.w, "data: %s\n\n", data) // the turn continues if the reader disconnects
	_ = http.NewResponseController(t.w).Flush()
}

func (t *turn) post(event map[string]any) {
	event["sessionId"], event["timestamp"] = t.sessionID, t.host.timestamp()
	body, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	status, text := t.host.send(t.webhook, body)
	t.host.record(Delivery{Body: event, Status: status, Answer: text})
}
