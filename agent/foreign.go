package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"bellhop/protocol"
)

// Tool is one that somebody else brings, such as a tool of an MCP server. The
// user is asked before each use.
type Tool struct {
	Spec    ToolSpec
	Prompt  string // the question to the user
	Warning protocol.SecurityWarning
	// Run returns soon after ctx ends. An error is the tool's answer to the model.
	Run func(ctx context.Context, arguments json.RawMessage) (string, error)
}

// maxForeign bounds what a foreign tool returns, in bytes.
const maxForeign = 256 << 10

type foreign struct {
	Tool
	limit time.Duration
}

func (f foreign) spec() ToolSpec { return f.Spec }

func (f foreign) prepare(arguments json.RawMessage) (*action, error) {
	warning := f.Warning
	return &action{
		prompt: f.Prompt, warning: &warning,
		run: func(ctx context.Context) (string, error) { return f.run(ctx, arguments) },
	}, nil
}

func (f foreign) run(ctx context.Context, arguments json.RawMessage) (string, error) {
	limited, cancel := context.WithTimeout(ctx, f.limit)
	defer cancel()
	content, err := f.Run(limited, arguments)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(limited.Err(), context.DeadlineExceeded) && err != nil:
		return "", protocol.Errorf(protocol.CodeInternal, "%s was stopped after its time limit of %s", f.Spec.Name, f.limit)
	case err != nil:
		return "", protocol.Errorf(protocol.CodeInvalid, "%s", shorten(explain(err), maxForeign))
	}
	return shorten(content, maxForeign), nil
}

// shorten cuts a text to at most n bytes and says so.
func shorten(text string, n int) string {
	text = protocol.SanitizeText(text)
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return fmt.Sprintf("%s\n… %d bytes left out", text[:n], len(text)-n)
}
