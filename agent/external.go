package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"bellhop/protocol"
)

// Tool is a tool from outside this package, such as one of an MCP server. The user is asked
// before each use.
type Tool struct {
	Spec    ToolSpec
	Prompt  string // the question to the user
	Warning protocol.SecurityWarning
	// Run must return soon after ctx ends. Its error is the tool's result for the model.
	Run func(ctx context.Context, arguments json.RawMessage) (string, error)
}

// maxExternal bounds the result of an external tool, in bytes.
const maxExternal = 256 << 10

type external struct {
	Tool
	limit time.Duration
}

func (f external) spec() ToolSpec { return f.Spec }

func (f external) prepare(arguments json.RawMessage) (*action, error) {
	warning := f.Warning
	return &action{
		prompt: f.Prompt, warning: &warning,
		run: func(ctx context.Context) (string, error) { return f.run(ctx, arguments) },
	}, nil
}

func (f external) run(ctx context.Context, arguments json.RawMessage) (string, error) {
	limited, cancel := context.WithTimeout(ctx, f.limit)
	defer cancel()
	content, err := f.Run(limited, arguments)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(limited.Err(), context.DeadlineExceeded) && err != nil:
		return "", protocol.Errorf(protocol.CodeInternal, "%s was stopped after its time limit of %s", f.Spec.Name, f.limit)
	case err != nil:
		return "", protocol.Errorf(protocol.CodeInvalid, "%s", shorten(explain(err), maxExternal))
	}
	return shorten(content, maxExternal), nil
}

// shorten cuts a text to at most n bytes and appends a note.
func shorten(text string, n int) string {
	text = protocol.SanitizeText(text)
	if len(text) <= n {
		return text
	}
	kept := protocol.CutText(text, n)
	return fmt.Sprintf("%s\n… %d bytes left out", kept, len(text)-len(kept))
}
