package agent

import (
	"bytes"
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

// Tool names. ToolAskUser is the loop's own: it becomes an ask line, without
// tool_start and tool_message.
const (
	ToolListDir    = "list_dir"
	ToolReadFile   = "read_file"
	ToolWriteFile  = "write_file"
	ToolEditFile   = "edit_file"
	ToolSearch     = "search"
	ToolRunCommand = "run_command"
	ToolAskUser    = "ask_user"
)

// A tool is something the agent can do.
type tool interface {
	spec() ToolSpec
	// prepare checks the arguments, so that a call that cannot work is refused
	// before anybody is asked about it.
	prepare(arguments json.RawMessage) (*action, error)
}

// action is a checked call.
type action struct {
	prompt  string                    // the question to the user
	warning *protocol.SecurityWarning // nil: needs no permission
	run     func(context.Context) (string, error)
}

// toolbox is the tools of one session by name.
type toolbox map[string]tool

// newToolbox puts more tools beside the agent's own, which win.
func newToolbox(root *os.Root, commandTime time.Duration, more ...Tool) toolbox {
	box := toolbox{}
	files := files{root}
	for _, t := range more {
		box[t.Spec.Name] = foreign{t, commandTime}
	}
	own := []tool{
		listDir{files}, readFile{files}, writeFile{files}, editFile{files}, search{files}, &runCommand{root.Name(), commandTime},
	}
	for _, t := range own {
		box[t.spec().Name] = t
	}
	return box
}

// specs are in the order of the names, ask_user at the end.
func (b toolbox) specs() []ToolSpec {
	specs := make([]ToolSpec, 0, len(b)+1)
	for _, name := range slices.Sorted(maps.Keys(b)) {
		specs = append(specs, b[name].spec())
	}
	return append(specs, ToolSpec{
		Name:        ToolAskUser,
		Description: "Ask the user a question and wait for the answer.",
		Schema:      schema("question"),
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

// schema is that of an object whose members are all required strings.
func schema(members ...string) json.RawMessage {
	properties := map[string]any{}
	for _, m := range members {
		properties[m] = map[string]string{"type": "string"}
	}
	return encode(map[string]any{"type": "object", "properties": properties, "required": members})
}

// encode is for values of our own making, which always are JSON.
func encode(v any) json.RawMessage {
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return bytes.TrimSpace(raw.Bytes())
}

// explain is what a model and a user read of a failed call.
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
