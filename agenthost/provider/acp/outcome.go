package acp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	sdk "github.com/coder/acp-go-sdk"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

// finished returns the outcome of a turn from the agent's response to the prompt.
func (t *turn) finished(f *finish) *agenthost.Outcome {
	if f.err != nil {
		return stdio.Failure("The agent reports a failure: " + readable(f.err).Error())
	}
	t.usage = usage(f.response, t.context)
	switch f.response.StopReason {
	case sdk.StopReasonMaxTokens, sdk.StopReasonMaxTurnRequests:
		return &agenthost.Outcome{FinishReason: protocol.FinishLength}
	case sdk.StopReasonRefusal:
		return &agenthost.Outcome{FinishReason: protocol.FinishContentFilter}
	case sdk.StopReasonCancelled:
		if slices.ContainsFunc(t.calls, func(c *call) bool { return c.Denied() }) {
			break // such an agent ends its turn when a call is denied
		}
		return stdio.Aborted()
	}
	return &agenthost.Outcome{FinishReason: protocol.FinishStop}
}

// usage combines the reports of the agent: the protocol's usage, the quota that
// several agents add, and how much of the model's context the session uses.
func usage(response sdk.PromptResponse, context stdio.Object) json.RawMessage {
	all := stdio.Object{}
	var quota struct {
		Quota struct {
			Tokens map[string]int64 `json:"token_count"`
		} `json:"quota"`
	}
	if json.Unmarshal(stdio.Encode(response.Meta), &quota) == nil {
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
	return stdio.Encode(all)
}

// readable makes an error of the agent readable for users: its message, which may
// be the model provider's response, and its details.
func readable(err error) error {
	var refused *sdk.RequestError
	if !errors.As(err, &refused) {
		return err
	}
	message := cmp.Or(stdio.ModelError(refused.Message), refused.Message)
	var data struct {
		Details string `json:"details"`
		Message string `json:"message"`
		Error   string `json:"error"`
	}
	_ = json.Unmarshal(stdio.Encode(refused.Data), &data)
	if more := cmp.Or(data.Details, data.Message, data.Error); more != "" && more != message {
		message += ": " + more
	}
	return fmt.Errorf("%s (%d)", message, refused.Code)
}
