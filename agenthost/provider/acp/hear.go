package acp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/coder/acp-go-sdk"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// hear maps one saying; an outcome ends the turn.
func (t *turn) hear(s saying) (*agenthost.Outcome, error) {
	switch {
	case s.garbage != "":
		t.skip(s.garbage)
	case s.question != nil:
		return nil, t.permit(s.question)
	case s.finish != nil:
		return t.finished(s.finish), nil
	case s.update != nil:
		return nil, t.updated(*s.update)
	}
	return nil, nil
}

// updated maps one session update. Kinds that show nothing are passed over.
func (t *turn) updated(u update) error {
	switch u.Kind {
	case "agent_message_chunk":
		return t.chunk(text, u)
	case "agent_thought_chunk":
		return t.chunk(reasoning, u)
	case "tool_call", "tool_call_update":
		return t.toolUpdate(u)
	case "usage_update":
		t.context = object{"used": u.Used, "size": u.Size}
		if present(u.Cost) {
			t.context["cost"] = u.Cost
		}
		return t.announceAll()
	case "current_mode_update":
		t.out.Notice("info", "The agent is now in the mode "+u.Mode)
	}
	return nil
}

func (t *turn) chunk(kind int, u update) error {
	b := u.chunk()
	delta := b.Text
	switch b.Type {
	case "text":
	case "resource_link":
		delta = b.URI
	default:
		t.out.Notice("warning", fmt.Sprintf("The agent sent content of the type %.40q, which is not shown", b.Type))
		return nil
	}
	if delta == "" {
		return nil
	}
	if err := t.announceAll(); err != nil {
		return err
	}
	if err := t.overdue(); err != nil {
		return err
	}
	return t.speech.add(kind, u.MessageID, delta)
}

// overdue gives denied calls the result that some agents leave out.
func (t *turn) overdue() error {
	for _, c := range t.calls {
		t.mu.Lock()
		denied := c.denied
		t.mu.Unlock()
		if !denied || c.answered {
			continue
		}
		if err := t.result(c, encode(object{"status": "rejected"}), false); err != nil {
			return err
		}
	}
	return nil
}

// finished reads the response to the prompt.
func (t *turn) finished(f *finish) *agenthost.Outcome {
	if f.err != nil {
		return &agenthost.Outcome{FinishReason: protocol.FinishError, Err: "The agent reports a failure: " + words(f.err).Error()}
	}
	t.usage = usage(f.response, t.context)
	switch f.response.StopReason {
	case sdk.StopReasonMaxTokens, sdk.StopReasonMaxTurnRequests:
		return &agenthost.Outcome{FinishReason: protocol.FinishLength}
	case sdk.StopReasonRefusal:
		return &agenthost.Outcome{FinishReason: protocol.FinishContentFilter}
	case sdk.StopReasonCancelled:
		if t.denials() {
			break // an agent that ends its turn when a call is denied
		}
		return &agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}
	}
	return &agenthost.Outcome{FinishReason: protocol.FinishStop}
}

func (t *turn) denials() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.calls {
		if c.denied {
			return true
		}
	}
	return false
}

// usage is what the agent tells of it: the protocol's own, the quota that
// several agents put beside it, and the context the session takes.
func usage(response sdk.PromptResponse, context object) json.RawMessage {
	all := object{}
	var quota struct {
		Quota struct {
			Tokens map[string]int64 `json:"token_count"`
		} `json:"quota"`
	}
	if json.Unmarshal(encode(response.Meta), &quota) == nil {
		for name, count := range quota.Quota.Tokens {
			all[cmp.Or(map[string]string{
				"input_tokens": "inputTokens", "output_tokens": "outputTokens", "total_tokens": "totalTokens",
				"reasoningOutputTokens": "reasoningTokens",
			}[name], name)] = count
		}
	}
	if u := response.Usage; u != nil {
		all["inputTokens"], all["outputTokens"], all["totalTokens"] = u.InputTokens, u.OutputTokens, u.TotalTokens
		if u.CachedReadTokens != nil {
			all["cachedInputTokens"] = *u.CachedReadTokens
		}
		if u.ThoughtTokens != nil {
			all["reasoningTokens"] = *u.ThoughtTokens
		}
	}
	if context != nil {
		all["context"] = context
	}
	if len(all) == 0 {
		return nil
	}
	return encode(all)
}

// words makes an error of the agent one for people: its message, which may be
// its model provider's answer as it came, and what it adds.
func words(err error) error {
	var refused *sdk.RequestError
	if !errors.As(err, &refused) {
		return err
	}
	message := refused.Message
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(message), &body) == nil && body.Error.Message != "" {
		message = body.Error.Message
	}
	var data struct {
		Details string `json:"details"`
		Message string `json:"message"`
		Error   string `json:"error"`
	}
	_ = json.Unmarshal(encode(refused.Data), &data)
	if more := cmp.Or(data.Details, data.Message, data.Error); more != "" && more != message {
		message += ": " + more
	}
	return fmt.Errorf("%s (%d)", message, refused.Code)
}
