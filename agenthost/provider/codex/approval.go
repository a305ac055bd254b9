package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"

	"bellhop/agenthost"
)

// question is a request of the program that waits for the user.
type question struct {
	request message
	cancel  context.CancelFunc
}

// asks is the parameters of every request that is put to the user.
type asks struct {
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

// requested puts a request of the program to the user and passes the answer on;
// the program may go on talking meanwhile.
func (t *turn) requested(m message) error {
	var a asks
	if readable := json.Unmarshal(m.Params, &a) == nil; !readable {
		t.program.send(t.asking, cancellation(&m))
		t.skip("a question that cannot be read")
		return nil
	}
	var c *call
	var err error
	switch m.Method {
	case approveCommand:
		c, err = t.announce(a.ItemID, "shell", encode(object{"command": a.Command, "cwd": a.Cwd}))
	case approveChange:
		c, err = t.announce(a.ItemID, "apply_patch", encode(object{"changes": []any{}}))
	case approvePermissions:
		c, err = t.announce(a.ItemID, "permissions", encode(object{"permissions": a.Permissions, "cwd": a.Cwd}))
	case elicitation:
		if len(a.Schema.Properties) > 0 {
			t.out.Notice("warning", "The MCP server "+a.Server+" asks for a form to be filled in, which is refused: "+a.Message)
			t.program.send(t.asking, message{ID: m.ID, Result: encode(object{"action": "decline"})})
			return nil
		}
		c = t.elicited(a)
	case userInput:
		err = t.speech.end("")
	default:
		t.program.send(t.asking, cancellation(&m))
		return nil
	}
	if err != nil {
		return err
	}
	t.ask(m, a, c)
	return nil
}

// elicited is the open call that a server's question is about, nil without one:
// Codex asks for a call of a server's tool as if the server did.
func (t *turn) elicited(a asks) *call {
	for _, c := range t.calls {
		if !c.answered && !c.asked && c.name == a.tool() && sameJSON(c.input, orEmpty(a.Meta.Params)) {
			c.asked = true
			return c
		}
	}
	return nil
}

func (a *asks) tool() string {
	if a.Meta.Tool == "" {
		return "mcp__" + a.Server
	}
	return "mcp__" + a.Server + "__" + a.Meta.Tool
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func (t *turn) ask(m message, a asks, c *call) {
	ctx, cancel := context.WithCancel(t.asking)
	t.mu.Lock()
	t.open[string(m.ID)] = &question{request: m, cancel: cancel}
	t.mu.Unlock()
	t.questions.Go(func() {
		defer cancel()
		result, err := t.put(ctx, m.Method, a, c)
		if ctx.Err() != nil { // the turn ends or the program no longer asks
			return
		}
		if err != nil {
			select {
			case t.failed <- err:
			default:
			}
			return
		}
		t.reply(m, result)
	})
}

// reply answers a request, unless it has been answered or given up.
func (t *turn) reply(m message, result any) {
	t.mu.Lock()
	_, open := t.open[string(m.ID)]
	delete(t.open, string(m.ID))
	t.mu.Unlock()
	if open {
		t.program.send(t.asking, message{ID: m.ID, Result: encode(result)})
	}
}

// resolved withdraws a question that the program has given up.
func (t *turn) resolved(id json.RawMessage) {
	t.mu.Lock()
	q := t.open[string(id)]
	delete(t.open, string(id))
	t.mu.Unlock()
	if q != nil {
		q.cancel()
	}
}

// refuse withdraws every open question and tells the program so: one left
// open could be answered when nobody expects its tool to run any more.
func (t *turn) refuse(ctx context.Context) {
	t.withdraw(nil)
	t.questions.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, q := range t.open {
		t.program.send(ctx, cancellation(&q.request))
		delete(t.open, id)
	}
}

// put asks the user and returns the result for the program. Codex is never
// told to remember an answer: the host does.
func (t *turn) put(ctx context.Context, method string, a asks, c *call) (any, error) {
	if method == userInput {
		return t.input(ctx, a)
	}
	q := agenthost.Question{Prompt: a.prompt(method), Args: a.args(method, c)}
	if c != nil {
		q.ToolCallID, q.ToolName = c.id, c.name
	} else {
		q.ToolName = a.tool()
	}
	answer, err := t.out.Confirm(ctx, q)
	if err != nil {
		return nil, err
	}
	if !answer.Approved && c != nil {
		t.deny(c)
	}
	switch method {
	case approvePermissions:
		granted := a.Permissions
		if !answer.Approved {
			granted = json.RawMessage(`{}`)
		}
		return object{"permissions": granted, "scope": "turn"}, nil
	case elicitation:
		if !answer.Approved {
			return object{"action": "decline"}, nil
		}
		return object{"action": "accept", "content": object{}}, nil
	}
	if !answer.Approved {
		return object{"decision": "decline"}, nil
	}
	return object{"decision": "accept"}, nil
}

// input asks the user the agent's own questions, one after another. One that
// expires is left unanswered.
func (t *turn) input(ctx context.Context, a asks) (any, error) {
	answers := object{}
	for _, asked := range a.Questions {
		q := agenthost.Question{Prompt: cmp.Or(asked.Question, asked.Header)}
		for _, option := range asked.Options {
			q.Options = append(q.Options, option.Label)
		}
		answer, err := t.out.Ask(ctx, q)
		if err != nil {
			return nil, err
		}
		texts := []string{}
		if !answer.Expired {
			texts = append(texts, answer.Text)
		}
		answers[asked.ID] = object{"answers": texts}
	}
	return object{"answers": answers}, nil
}

func (a *asks) prompt(method string) string {
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

// args are the arguments the user decides on: the call's, and what the request
// adds to them.
func (a *asks) args(method string, c *call) json.RawMessage {
	args := object{}
	switch {
	case c != nil:
		_ = json.Unmarshal(c.input, &args)
	case method == elicitation:
		_ = json.Unmarshal(orEmpty(a.Meta.Params), &args)
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
	return encode(args)
}

// cancellation answers a request that nobody decides on any more. It ends the
// turn where the program knows such an answer.
func cancellation(m *message) message {
	answer := message{ID: m.ID}
	switch m.Method {
	case approveCommand, approveChange:
		answer.Result = encode(object{"decision": "cancel"})
	case approvePermissions:
		answer.Result = encode(object{"permissions": object{}})
	case userInput:
		answer.Result = encode(object{"answers": object{}})
	case elicitation:
		answer.Result = encode(object{"action": "cancel"})
	default:
		answer.Error = &refusal{Code: noSuchMethod, Message: "there is no " + m.Method + " here"}
	}
	return answer
}
