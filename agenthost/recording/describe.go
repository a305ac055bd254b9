package recording

import (
	"cmp"
	"fmt"
	"strings"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// Describe returns a session's state in short form.
func Describe(s *core.State) string {
	if s.Deleted {
		return "deleted"
	}
	if s.Record.ID == "" {
		return "new"
	}
	rec := &s.Record
	out := []string{string(rec.Status) + reason(rec.Reason), "event " + cursor(rec.Cursor)}
	if !s.Headless() {
		out = append(out, "acknowledged "+cursor(rec.Acked), "outbox "+string(rec.Outbox)+reason(rec.OutboxError))
	}
	out = append(out, fmt.Sprintf("next frame %d-%d", rec.Cursor.Epoch, s.Next))
	if s.Announced != nil {
		out = append(out, "announced "+s.Announced.ID)
	}
	if t := s.Turn; t != nil {
		out = append(out, "turn "+t.Record.ID+reason(cmp.Or(t.Stop, failure(t))))
	}
	if len(s.Queue) > 0 {
		out = append(out, "queued "+strings.Join(s.QueuedTurns(), " "))
	}
	for i := range s.Questions {
		out = append(out, "question "+s.Questions[i].ID)
	}
	return strings.Join(out, ", ")
}

func failure(t *core.Turn) string {
	if t.Failure == nil {
		return ""
	}
	return t.Failure.Message
}

func reason(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func cursor(c protocol.Cursor) string { return fmt.Sprintf("%d/%d", c.Epoch, c.Seq) }

// DescribeRows returns the rows of a step in short form, one string a row.
func DescribeRows(w *core.Write) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if w.DropSession {
		add("delete everything of the session")
	}
	for _, c := range w.DropEvents {
		add("delete event %s", cursor(c))
	}
	if w.DropAllTokens {
		add("delete all tokens")
	}
	for i := range w.Events {
		e := &w.Events[i]
		add("event %s %s %s", cursor(e.Cursor), e.Type, e.Body)
	}
	for i := range w.Turns {
		t := &w.Turns[i]
		add("turn %s %s%s", t.ID, t.State, reason(strings.TrimSpace(string(t.FinishReason)+" "+t.Reason)))
	}
	for i := range w.Interactions {
		add("interaction %s %s %s", w.Interactions[i].ID, w.Interactions[i].Kind, w.Interactions[i].State)
	}
	for i := range w.Prompts {
		add("prompt of %s", w.Prompts[i].TurnID)
	}
	for i := range w.Tokens {
		add("token until %s", w.Tokens[i].ExpiresAt.UTC().Format("15:04:05"))
	}
	for i := range w.DeadLetters {
		add("dead letter %s: %s", cursor(w.DeadLetters[i].Cursor), w.DeadLetters[i].Reason)
	}
	if w.Session != nil {
		add("session")
	}
	return out
}

// DescribeFrame returns a frame in short form.
func DescribeFrame(f *core.Frame) string { return f.ID.String() + " " + string(f.Part) }

// DescribeEffect returns an effect in short form: its name and its members that are set.
func DescribeEffect(e core.Effect) string {
	name := effectName(e)
	raw, err := protocol.Marshal(e)
	if err != nil || string(raw) == "{}" {
		return name
	}
	return name + " " + string(raw)
}

func effectName(e core.Effect) string { return strings.TrimPrefix(fmt.Sprintf("%T", e), "core.") }
