package local

import (
	"cmp"
	"context"
	"encoding/json"

	"bellhop/agenthost"
	"bellhop/internal/lazyregexp"
	"bellhop/policy"
	"bellhop/protocol"
)

// maxHookBody is large because a hook repeats the input and the output of a tool.
const maxHookBody = 4 << 20

// hookRequest is {type:"status",status} or the input of a Claude Code hook.
type hookRequest struct {
	Type   string          `json:"type"`
	Status protocol.Status `json:"status"`

	Event        string `json:"hook_event_name"`
	SessionID    string `json:"session_id"`
	Notification string `json:"notification_type"`

	Tool  string          `json:"tool_name"`
	Input json.RawMessage `json:"tool_input"`

	PromptID string          `json:"prompt_id"`
	Prompt   string          `json:"prompt"`
	CallID   string          `json:"tool_use_id"`
	Response json.RawMessage `json:"tool_response"`
	Error    json.RawMessage `json:"error"` // of a tool that failed, or of the model
	Text     string          `json:"last_assistant_message"`
}

// hookResponse is {} if the program decides by itself.
type hookResponse struct {
	Output *hookOutput `json:"hookSpecificOutput,omitempty"`
}

// hookOutput is a decision about a tool call, as Claude Code's PreToolUse takes it.
type hookOutput struct {
	Event    string `json:"hookEventName"`
	Decision string `json:"permissionDecision"` // deny, or ask, which asks the person at the terminal
	Reason   string `json:"permissionDecisionReason"`
}

// hook responds with {} to a valid hook, which leaves the decision to the program and
// its person, except about calls that the policy denies or calls CRITICAL.
func (s *Server) hook(ctx context.Context, in *hookRequest) (*hookResponse, error) {
	report := agenthost.HookReport{Program: in.SessionID}
	switch {
	case in.Event != "":
		report.Status, report.Reason = in.status()
		report.Turn = in.turn()
	case in.Type == "status":
		switch in.Status {
		case protocol.StatusNone, protocol.StatusIdle, protocol.StatusBusy:
			report.Status = in.Status
		default:
			return nil, protocol.Errorf(protocol.CodeInvalid, "status must be none, idle or busy")
		}
	default:
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "This is no hook",
			Hint: `Send {"type":"status","status":"busy"}, or what Claude Code gives its hooks`,
		}
	}
	s.Host.Hook(grantOf(ctx), report)
	return s.decide(grantOf(ctx), in), nil
}

// decide applies the policy to a call of a terminal client before its tool runs.
func (s *Server) decide(g agenthost.LocalGrant, in *hookRequest) *hookResponse {
	if in.Event != "PreToolUse" || in.Tool == "" {
		return &hookResponse{}
	}
	d, ok := s.Host.Decide(g, in.Tool, in.Input)
	why := cmp.Or(d.Message, "rule "+d.Rule)
	switch {
	case ok && d.Action == policy.Deny:
		return &hookResponse{&hookOutput{in.Event, "deny", "Denied by policy: " + why}}
	case ok && d.Action == policy.Confirm && d.Level == policy.Critical:
		return &hookResponse{&hookOutput{in.Event, "ask", why}}
	}
	return &hookResponse{}
}

// status maps a hook to the status of its program. An empty status means only that
// the program is running. The end of a sub-agent is ignored, because the agent itself
// may continue. Tools run only while the agent is busy.
func (in *hookRequest) status() (status protocol.Status, reason string) {
	switch in.Event {
	case "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure":
		return protocol.StatusBusy, ""
	case "PermissionRequest":
		return protocol.StatusIdle, protocol.ReasonWaiting
	case "SessionStart", "Stop", "StopFailure":
		return protocol.StatusIdle, ""
	case "SessionEnd":
		return protocol.StatusNone, ""
	case "Notification":
		switch in.Notification {
		case "permission_prompt", "elicitation_dialog":
			return protocol.StatusIdle, protocol.ReasonWaiting
		case "idle_prompt":
			return protocol.StatusIdle, ""
		}
	}
	return "", ""
}

var promptIDForm = lazyregexp.New(`^[A-Za-z0-9-]{1,64}$`)

// turn returns the report of a hook about the turn of its program.
func (in *hookRequest) turn() agenthost.TurnReport {
	switch in.Event {
	case "UserPromptSubmit":
		report := agenthost.TurnReport{Began: true, Prompt: in.Prompt}
		if promptIDForm.MatchString(in.PromptID) {
			report.ID = "terminal-" + in.PromptID
		}
		return report
	case "PreToolUse":
		return agenthost.TurnReport{Call: &agenthost.ToolCall{ID: in.CallID, Name: in.Tool, Input: in.Input}}
	case "PostToolUse":
		return agenthost.TurnReport{Result: &agenthost.ToolResult{ID: in.CallID, Name: in.Tool, Output: in.Response}}
	case "PostToolUseFailure":
		return agenthost.TurnReport{
			Result: &agenthost.ToolResult{ID: in.CallID, Name: in.Tool, Output: in.Error, IsError: true},
		}
	case "Stop":
		return agenthost.TurnReport{Ended: true, Text: in.Text}
	case "StopFailure":
		reason := "The agent failed"
		if text := ""; json.Unmarshal(in.Error, &text) == nil && text != "" {
			reason = text
		}
		return agenthost.TurnReport{Ended: true, Text: in.Text, Failed: reason}
	}
	return agenthost.TurnReport{}
}
