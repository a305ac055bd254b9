package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"bellhop/protocol"
)

// Tool names. ToolAskUser is handled by the loop: it writes an ask line, without tool_start and
// tool_message.
const (
	ToolListDir    = "list_dir"
	ToolReadFile   = "read_file"
	ToolWriteFile  = "write_file"
	ToolEditFile   = "edit_file"
	ToolSearch     = "search"
	ToolRunCommand = "run_command"
	ToolAskUser    = "ask_user"
)

// tool is a tool of the agent.
type tool interface {
	spec() ToolSpec
	// prepare checks the arguments, so that a call that cannot work is rejected before the user
	// is asked.
	prepare(arguments json.RawMessage) (*action, error)
}

// action is a validated call.
type action struct {
	prompt  string                    // the question to the user
	warning *protocol.SecurityWarning // nil = no permission needed
	run     func(context.Context) (string, error)
	shape   string // what a yes for the session covers, see policy.Decision; "" means this call only
}

// toolbox has the tools of one session by name.
type toolbox map[string]tool

// newToolbox adds further tools to the agent's own, which win if names collide.
func newToolbox(root *os.Root, commandTime time.Duration, more ...Tool) toolbox {
	box := toolbox{}
	files := files{root}
	for _, t := range more {
		box[t.Spec.Name] = external{t, commandTime}
	}
	own := []tool{
		listDir{files},
		readFile{files},
		writeFile{files},
		editFile{files},
		search{files},
		&runCommand{root.Name(), commandTime},
	}
	for _, t := range own {
		box[t.spec().Name] = t
	}
	return box
}

// specs returns the tools in the order of their names, ask_user last.
func (b toolbox) specs() []ToolSpec {
	specs := make([]ToolSpec, 0, len(b)+1)
	for _, name := range slices.Sorted(maps.Keys(b)) {
		specs = append(specs, b[name].spec())
	}
	return append(specs, ToolSpec{
		Name:        ToolAskUser,
		Description: "Ask the user a question and wait for the answer.",
		Schema:      objectSchema([]string{"question"}, map[string]string{"default": "string"}),
	})
}

func (b toolbox) prepare(call ToolCall) (*action, error) {
	if call.Problem != "" {
		return nil, protocol.Errorf(protocol.CodeInvalid, "The arguments are not a JSON object: %s", call.Problem)
	}
	t, ok := b[call.Name]
	if !ok {
		return nil, protocol.Errorf(protocol.CodeInvalid, "There is no tool %q", call.Name)
	}
	return t.prepare(call.Arguments)
}

// schema returns the JSON Schema of an object whose members are required strings.
func schema(members ...string) json.RawMessage { return objectSchema(members, nil) }

// objectSchema returns the JSON Schema of an object with required strings and
// further, optional members: name → type.
func objectSchema(required []string, optional map[string]string) json.RawMessage {
	properties := map[string]any{}
	for _, name := range required {
		properties[name] = map[string]string{"type": "string"}
	}
	for name, kind := range optional {
		properties[name] = map[string]string{"type": kind}
	}
	return encode(map[string]any{"type": "object", "properties": properties, "required": required})
}

// encode encodes values that always are valid JSON.
func encode(v any) json.RawMessage {
	raw, err := protocol.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return raw
}

// explain returns the text of an error for models and users.
func explain(err error) string {
	var e *protocol.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	if e.Hint != "" {
		return e.Message + ". " + e.Hint
	}
	return e.Message
}
