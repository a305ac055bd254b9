package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
)

// errResolved is the cause when a question is cancelled because the program no
// longer asks it.
var errResolved = errors.New("the request is resolved")

// approval has the parameters of all requests that ask the user.
type approval struct {
	ItemID  string `json:"itemId"`
	Reason  string `json:"reason"`
	Command string `json:"command"`
	Cwd     string `json:"cwd"`
	Root    string `json:"grantRoot"`

	Network *struct {
		Host     string `json:"host"`
		Protocol string `json:"protocol"`
	} `json:"networkApprovalContext"`

	Permissions json.RawMessage `json:"permissions"`

	Questions []struct {
		ID       string `json:"id"`
		Header   string `json:"header"`
		Question string `json:"question"`
		Options  []struct {
			Label string `json:"label"`
		} `json:"options"`
	} `json:"questions"`

	Message string `json:"message"`
	Server  string `json:"serverName"`
	URL     string `json:"url"`
	Schema  struct {
		Properties map[string]any `json:"properties"`
	} `json:"requestedSchema"`
	Meta struct {
		Tool   string          `json:"tool_name"`
		Params json.RawMessage `json:"tool_params"`
	} `json:"_meta"`
}

const (
	approveCommand     = "item/commandExecution/requestApproval"
	approveChange      = "item/fileChange/requestApproval"
	approvePermissions = "item/permissions/requestApproval"
	userInput          = "item/tool/requestUserInput"
	elicitation        = "mcpServer/elicitation/request"
)

// serverRequest asks the user for a request of the program and sends the answer.
func (t *turn) serverRequest(m message) error {
	var a approval
	if readable := json.Unmarshal(m.Params, &a) == nil; !readable {
		t.connection.Reject(m)
		t.Skip("a question that cannot be read")
		return nil
	}
	var c *stdio.Call
	var err error
	switch m.Method {
	case approveCommand:
		c, err = t.announce(a.ItemID, "shell", stdio.Encode(stdio.Object{"command": a.Command, "cwd": a.Cwd}))
	case approveChange:
		c, err = t.announce(a.ItemID, "apply_patch", stdio.Encode(stdio.Object{"changes": []any{}}))
	case approvePermissions:
		c, err = t.announce(a.ItemID, "permissions", stdio.Encode(stdio.Object{"permissions": a.Permissions, "cwd": a.Cwd}))
	case elicitation:
		if len(a.Schema.Properties) > 0 {
			t.Out.Notice("warning", "The MCP server "+a.Server+" asks for a form to be filled in, which is refused: "+a.Message)
			t.respond(t.Context(), m, stdio.Object{"action": "decline"})
			return nil
		}
		c = t.elicited(a)
	case userInput:
		err = t.blocks.end("")
	default:
		t.connection.Reject(m)
		return nil
	}
	if err == nil {
		t.ask(m, a, c)
	}
	return err
}

// respond answers a request, unless ctx has ended.
func (t *turn) respond(ctx context.Context, m message, result any) {
	_ = t.connection.child.Send(ctx, message{ID: m.ID, Result: stdio.Encode(result)})
}

// elicited returns the open call that a server's question belongs to, or nil. Codex
// uses such a question to ask for permission for a call of a server's tool.
func (t *turn) elicited(a approval) *stdio.Call {
	for _, c := range t.Calls() {
		if !c.Answered() && !t.elicitedCalls[c] && c.Name == a.tool() && sameJSON(c.Input, stdio.OrEmpty(a.Meta.Params)) {
			t.elicitedCalls[c] = true
			return c
		}
	}
	return nil
}

func (a *approval) tool() string {
	if a.Meta.Tool == "" {
		return "mcp__" + a.Server
	}
	return "mcp__" + a.Server + "__" + a.Meta.Tool
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// ask asks the user in the background. If the turn ends first, the request is
// cancelled, because a later answer would still run its tool.
func (t *turn) ask(m message, a approval, c *stdio.Call) {
	t.Question(string(m.ID), func(ctx context.Context) error {
		result, err := t.decide(ctx, m.Method, a, c)
		switch {
		case errors.Is(context.Cause(ctx), errResolved):
		case ctx.Err() != nil:
			t.connection.child.Offer(cancellation(&m))
		case err == nil:
			t.respond(ctx, m, result)
		}
		return err
	})
}

// decide asks the user and returns the result for the program. The host remembers
// answers; Codex must not.
func (t *turn) decide(ctx context.Context, method string, a approval, c *stdio.Call) (any, error) {
	if method == userInput {
		return t.input(ctx, a)
	}
	q := agenthost.Question{Prompt: a.prompt(method), Args: a.args(method, c)}
	if c != nil {
		q.ToolCallID, q.ToolName = c.ID, c.Name
	} else {
		q.ToolName = a.tool()
	}
	answer, err := t.Out.Confirm(ctx, q)
	if err != nil {
		return nil, err
	}
	if !answer.Approved && c != nil {
		c.SetDenied(true)
	}
	switch method {
	case approvePermissions:
		granted := a.Permissions
		if !answer.Approved {
			granted = json.RawMessage(`{}`)
		}
		return stdio.Object{"permissions": granted, "scope": "turn"}, nil
	case elicitation:
		if !answer.Approved {
			return stdio.Object{"action": "decline"}, nil
		}
		return stdio.Object{"action": "accept", "content": stdio.Object{}}, nil
	}
	if !answer.Approved {
		return stdio.Object{"decision": "decline"}, nil
	}
	return stdio.Object{"decision": "accept"}, nil
}

// input asks the user the agent's own questions, one after another. An expired
// question stays unanswered.
func (t *turn) input(ctx context.Context, a approval) (any, error) {
	answers := stdio.Object{}
	for _, asked := range a.Questions {
		q := agenthost.Question{Prompt: cmp.Or(asked.Question, asked.Header)}
		for _, option := range asked.Options {
			q.Options = append(q.Options, option.Label)
		}
		q.Default = agenthost.Recommended(q.Options)
		answer, err := t.Out.Ask(ctx, q)
		if err != nil {
			return nil, err
		}
		texts := []string{}
		if !answer.Expired {
			texts = append(texts, answer.Text)
		}
		answers[asked.ID] = stdio.Object{"answers": texts}
	}
	return stdio.Object{"answers": answers}, nil
}

func (a *approval) prompt(method string) string {
	what := a.Message
	switch {
	case method == elicitation && a.URL != "":
		what += "\n" + a.URL
	case method == approveCommand && a.Network != nil:
		what = "Connect to " + a.Network.Host + "?"
	case method == approveCommand:
		what = "Run this command?"
	case method == approveChange && a.Root != "":
		what = "Change these files, and any others in " + a.Root + "?"
	case method == approveChange:
		what = "Change these files?"
	case method == approvePermissions:
		what = "Give the agent these permissions for the turn?"
	}
	if a.Reason != "" {
		what += "\n" + a.Reason
	}
	return what
}

// args returns the arguments that the user decides about: those of the call and
// those of the request.
func (a *approval) args(method string, c *stdio.Call) json.RawMessage {
	args := stdio.Object{}
	switch {
	case c != nil:
		_ = json.Unmarshal(c.Input, &args)
	case method == elicitation:
		_ = json.Unmarshal(stdio.OrEmpty(a.Meta.Params), &args)
	}
	if method == approveCommand && a.Command != "" {
		args["command"] = a.Command
	}
	if a.Network != nil {
		args["url"] = cmp.Or(a.Network.Protocol, "https") + "://" + a.Network.Host
	}
	if a.Root != "" {
		args["grantRoot"] = a.Root
	}
	return stdio.Encode(args)
}

// cancellation returns the response to a request that no user can decide any more.
// If the program supports it, this response ends the turn.
func cancellation(m *message) message {
	response := message{ID: m.ID}
	switch m.Method {
	case approveCommand, approveChange:
		response.Result = stdio.Encode(stdio.Object{"decision": "cancel"})
	case approvePermissions:
		response.Result = stdio.Encode(stdio.Object{"permissions": stdio.Object{}})
	case userInput:
		response.Result = stdio.Encode(stdio.Object{"answers": stdio.Object{}})
	case elicitation:
		response.Result = stdio.Encode(stdio.Object{"action": "cancel"})
	default:
		response.Error = &refusal{Code: noSuchMethod, Message: "there is no " + m.Method + " here"}
	}
	return response
}
