package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"bellhop/agenthost/core"
	"bellhop/agenthost/recording"
	"bellhop/internal/jsonlines"
	"bellhop/protocol"
)

type replayCommand struct {
	File string `arg:"" help:"Recording, or the directory with it."`

	Session string `placeholder:"ID" help:"Show only this session."`
	Full    bool   `help:"Do not cut long inputs, rows and frames."`
	JSON    bool   `name:"json" help:"Print JSON, one object per input."`
}

// Help is shown by --help.
func (replayCommand) Help() string {
	return `'bellhop host --record FILE' and 'bellhop dev --record FILE' record every input of every session: a check-in, a prompt,
a text of the agent, an answer, a response of the broker. Replay applies the inputs again and shows for each the state
before and after it, and its step: journal rows, frames of the stream, and effects. It starts no agent and sends nothing.

A recording holds prompts, outputs and file contents; known secrets are masked. Read it before you attach it to a report.

  bellhop replay recording.jsonl --session 0193…
  bellhop replay recording.jsonl --json | jq 'select(.frames)'

The exit code is 1 if a line cannot be read, or if the replay departs from what the host did.`
}

// Run prints the replay.
func (c replayCommand) Run(env *environment) error {
	show := c.showText(env.stdout)
	if c.JSON {
		lines := jsonlines.NewWriter(env.stdout)
		show = func(r *recording.Result) error { return lines.Write(r.View()) }
	}
	inputs, problems, err := c.replay(env.stderr, show)
	if err != nil {
		return err
	}
	if problems > 0 {
		return fmt.Errorf("replay: %d lines of the recording have problems", problems)
	}
	if inputs == 0 && c.Session != "" {
		return &protocol.Error{
			Code: protocol.CodeNotFound, Message: fmt.Sprintf("The recording has no inputs of session %q", c.Session),
			Hint: "Without --session, replay shows all sessions",
		}
	}
	return nil
}

// replay applies all inputs, and shows those of the wanted session. It counts these, and
// the lines with a problem.
func (c replayCommand) replay(stderr io.Writer, show func(*recording.Result) error) (inputs, problems int, err error) {
	var replay recording.Replay
	for entry, err := range recording.Read(c.File) {
		if err != nil {
			if entry.Line == 0 { // no file
				return inputs, problems, err
			}
			problems++
			_, _ = fmt.Fprintln(stderr, "bellhop:", err)
			continue
		}
		result, isInput := replay.Apply(entry)
		if !isInput || c.Session != "" && entry.Session != c.Session {
			continue
		}
		inputs++
		if result.Differs != "" {
			problems++
		}
		if err := show(&result); err != nil {
			return inputs, problems, err
		}
	}
	return inputs, problems, nil
}

// showText prints a result as a block of lines.
func (c replayCommand) showText(w io.Writer) func(*recording.Result) error {
	return func(r *recording.Result) error {
		var out strings.Builder
		line := func(label, text string) {
			if !c.Full {
				text = shorten(text)
			}
			_, _ = fmt.Fprintf(&out, "  %-7s %s\n", label, printable(text))
		}
		_, _ = fmt.Fprintf(&out, "%s  %s  %s  line %s\n", r.At.UTC().Format("15:04:05.000"), printable(r.Session),
			core.Kind(r.Input.Input), strconv.Itoa(r.Line))
		input, err := protocol.Marshal(r.Input.Input)
		if err != nil {
			return err
		}
		line("input", string(input))
		describeResult(r, line)
		_, err = fmt.Fprintln(w, out.String())
		return err
	}
}

func describeResult(r *recording.Result, line func(label, text string)) {
	if r.Missing {
		line("unknown", "the session began before this recording, so its state is not known")
		return
	}
	line("before", recording.Describe(&r.Before))
	if r.Input.Error != "" {
		line("error", r.Input.Error)
	}
	if r.Differs != "" {
		line("differs", r.Differs)
	}
	if r.Step == nil {
		return
	}
	for _, row := range recording.DescribeRows(&r.Step.Rows) {
		line("row", row)
	}
	for i := range r.Step.Frames {
		line("frame", recording.DescribeFrame(&r.Step.Frames[i]))
	}
	for _, effect := range r.Step.Effects {
		line("effect", recording.DescribeEffect(effect))
	}
	line("after", recording.Describe(&r.After))
}
