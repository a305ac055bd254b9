package broker

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"bellhop/internal/markdown"
	"bellhop/protocol"
)

var toolStates = map[protocol.ToolState]string{
	protocol.ToolRunning: "running", protocol.ToolDone: "done", protocol.ToolError: "failed",
	protocol.ToolDenied: "denied", protocol.ToolUnknown: "result unknown",
}

// toolUse writes a folded tool call with its input and output, and the permission that was asked for it.
func (d *document) toolUse(use *protocol.ToolUse) {
	summary := d.text(use.ToolName)
	if state := toolStates[use.State]; state != "" {
		summary += ", " + state
	}
	took := time.Duration(use.EndedAt-use.StartedAt) * time.Millisecond
	if use.StartedAt > 0 && took >= 100*time.Millisecond {
		summary += ", " + took.Round(100*time.Millisecond).String()
	}
	d.printf("\n<details>\n<summary>%s</summary>\n\n", markdown.Summary(summary))
	d.value("Input", use.Input)
	d.value("Output", use.Output)
	d.printf("</details>\n")
	d.questions = slices.DeleteFunc(d.questions, func(q protocol.Interaction) bool {
		isOfCall := q.Kind == protocol.KindConfirm && q.ToolCallID == use.ToolCallID
		if isOfCall {
			d.printf("\n*%s*\n", markdown.Line(d.text(outcomeText(&q))))
		}
		return isOfCall
	})
}

// value writes a JSON value as fenced code; nothing for null.
func (d *document) value(name string, raw json.RawMessage) {
	if d.mask != nil {
		raw = d.mask.Value(raw, "null")
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	language, text := "json", ""
	var indented bytes.Buffer
	switch {
	case json.Unmarshal(raw, &text) == nil:
		language = ""
	case json.Indent(&indented, raw, "", "  ") == nil:
		text = indented.String()
	default:
		language, text = "", string(raw)
	}
	d.printf("%s:\n\n%s\n", name, markdown.Fence(language, text))
}

// diff writes which files changed, and the changes folded.
func (d *document) diff(diff *protocol.Diff) {
	noun, count := " files changed", diff.Counts().Files
	if count == 1 {
		noun = " file changed"
	}
	d.printf("\n<details>\n<summary>%d%s</summary>\n\n", count, noun)
	for i := range diff.Files {
		f := &diff.Files[i]
		d.printf("- %s (%s, +%d -%d)\n", markdown.Line(d.text(f.Path)), markdown.Line(string(f.Status)), f.Additions,
			f.Deletions)
	}
	if diff.Patch != "" {
		d.printf("\n%s", markdown.Fence("diff", d.text(diff.Patch)))
	}
	if diff.Truncated {
		d.printf("\nThe changes are incomplete.\n")
	}
	d.printf("\n</details>\n")
}

// question writes a question of the agent and what became of it.
func (d *document) question(q *protocol.Interaction) {
	d.printf("\nQuestion of the agent:\n\n%s", markdown.Quote(d.text(q.Prompt)))
	d.printf("\n*%s*\n", markdown.Line(d.text(outcomeText(q))))
	if q.Kind == protocol.KindAsk && q.Answer != nil && q.Answer.Text != "" {
		d.printf("\n%s", markdown.Quote(d.text(q.Answer.Text)))
	}
}

// rulePrefix begins the reason of an answer that a rule gave. The rule's name follows.
const rulePrefix = "policy: "

// outcomeText describes what became of a question.
func outcomeText(q *protocol.Interaction) string {
	switch {
	case q.State == protocol.InteractionOpen:
		return "Not answered yet"
	case q.State == protocol.InteractionExpired, q.Answer == nil:
		return "Not answered"
	}
	a := q.Answer
	isDenied := a.Approved != nil && !*a.Approved
	if a.By == "" && isDenied && slices.Contains(unansweredReasons, a.Reason) {
		return "Not answered: " + a.Reason
	}
	text := "Answered"
	if q.Kind == protocol.KindConfirm {
		text = "Allowed"
		if isDenied || a.Approved == nil {
			text = "Denied"
		}
	}
	switch rule, isRule := strings.CutPrefix(a.Reason, rulePrefix); {
	case isRule:
		return text + " by the rule " + rule
	case a.Remembered != "":
		text += " for the session"
	}
	if a.Reason != "" {
		text += ": " + a.Reason
	}
	return text
}

var endingTexts = map[string]string{
	protocol.ReasonAborted: "Stopped by the user", protocol.ReasonHostRestarted: "The agent host restarted",
	protocol.ReasonNotStarted: "The turn was not started", protocol.ReasonHostLost: "The agent host lost the turn",
	protocol.ReasonAgentExited:    "The agent program ended",
	protocol.ReasonAgentRestarted: "The agent was restarted",
	protocol.ReasonAgentStopped:   "The operator stopped the agent",
}

// endingText describes how a turn ended; "" if it ended as usual.
func endingText(t *protocol.LastTurn) string {
	switch text, known := endingTexts[t.Reason]; {
	case known:
		return text
	case t.FinishReason == protocol.FinishStop:
		return ""
	case t.Reason != "":
		return "The turn ended: " + t.Reason
	}
	return "The turn ended: " + string(t.FinishReason)
}
