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
	t.usage = usage(f.response, t.used)
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
