//go:build linux

package torture

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// toolName is the tool that the scripted agent pretends to use.
const toolName = "note"

// line is one line of the headless interface, in either direction.
type line struct {
	Type      string          `json:"type"`
	SessionID string          `json:"session_id,omitempty"`
	Text      string          `json:"text,omitempty"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	State     string          `json:"state,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Metadata  *metadata       `json:"metadata,omitempty"`
}

type metadata struct {
	Usage usage `json:"usage"`
}

type usage struct {
	OutputTokens int `json:"outputTokens"`
}

// Agent is the scripted agent: it speaks the headless interface and plays the script that a
// prompt names. It appends the label of every prompt that it begins to the ledger, a file that
// no fault touches and that shows how often a prompt ran.
func Agent(ctx context.Context, in io.Reader, out io.Writer, ledger string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan line)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			var l line
			if json.Unmarshal(scanner.Bytes(), &l) != nil {
				continue
			}
			select {
			case lines <- l:
			case <-ctx.Done():
				return
			}
		}
	}()
	a := &scriptedAgent{lines: lines, out: json.NewEncoder(out), ledger: ledger}
	for l := range lines {
		if l.Type == "input" {
			if err := a.play(ctx, l); err != nil {
				return err
			}
		}
	}
	return nil
}

type scriptedAgent struct {
	lines   <-chan line
	out     *json.Encoder
	ledger  string
	session string
}

func (a *scriptedAgent) write(l line) error {
	l.SessionID = a.session
	return a.out.Encode(l)
}

// play runs one turn to its end, or until an interrupt.
func (a *scriptedAgent) play(ctx context.Context, input line) error {
	a.session = input.SessionID
	s, err := parseScript(input.Text)
	if err != nil {
		return a.end("error")
	}
	if err := a.record(s.label); err != nil {
		return err
	}
	for n := 1; n <= s.steps; n++ {
		if goOn, err := a.wait(ctx, s.pause); err != nil || !goOn {
			return err
		}
		if err := a.show(n, s.step(n)); err != nil {
			return err
		}
	}
	return a.end("done")
}

func (a *scriptedAgent) end(reason string) error {
	return a.write(line{Type: "state", State: "waiting_for_input", Reason: reason})
}

// wait pauses between two steps; false when the turn was interrupted or the input has ended.
func (a *scriptedAgent) wait(ctx context.Context, pause time.Duration) (goOn bool, err error) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case l, open := <-a.lines:
			if !open {
				return false, io.EOF
			}
			if l.Type == "interrupt" {
				return false, a.end("interrupted")
			}
		case <-timer.C:
			return true, nil
		}
	}
}

// show outputs a step: a text in two pieces, or a tool's call and its result.
func (a *scriptedAgent) show(n int, s step) error {
	if s.call == "" {
		letters := []rune(s.text)
		cut := len(letters) / 3
		for _, piece := range [][]rune{letters[:cut], letters[cut:]} {
			if err := a.write(line{Type: "chunk", Content: string(piece)}); err != nil {
				return err
			}
		}
		return a.write(line{Type: "message", Content: s.text, Metadata: &metadata{usage{n}}})
	}
	arguments, err := json.Marshal(map[string]string{"for": s.call})
	if err != nil {
		return err
	}
	if err := a.write(line{Type: "tool_start", ID: s.call, Name: toolName, Arguments: arguments}); err != nil {
		return err
	}
	return a.write(line{Type: "tool_message", ID: s.call, Name: toolName, Content: s.out})
}

func (a *scriptedAgent) record(label string) error {
	file, err := os.OpenFile(a.ledger, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(file, label); err != nil {
		return err
	}
	return file.Close()
}
