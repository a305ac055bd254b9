package opencode

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
)

// roleUser is the role of messages that begin a turn.
const roleUser = "user"

// noMessages is before the id of every message.
const noMessages = " "

// reportTerminalTurns reports the turns that a terminal client made in the session and that are over: those
// after the newest message that is known. If none is known, it only notes the newest message: earlier
// turns are known, or were made while no host ran. During a turn of the host it reports nothing; the
// end of that turn calls it again.
func (a *agent) reportTerminalTurns(ctx context.Context, p *program) {
	a.reading.Lock()
	defer a.reading.Unlock()
	a.mu.Lock()
	id, busy := a.sessionID, a.turn != nil
	a.unread = a.unread || busy
	a.mu.Unlock()
	if a.spec.ReportTerminalTurn == nil || id == "" || busy {
		return
	}
	messages, err := p.client.messages(ctx, id)
	if err != nil {
		a.Log.Warn("the messages of a terminal client cannot be read", "agent", a.Name, "error", err)
		return
	}
	for _, turn := range a.unreported(p, messages) {
		a.spec.ReportTerminalTurn(turn)
	}
}

// unreported returns the turns of a terminal client in the session's messages that were not reported, and
// marks them as reported.
func (a *agent) unreported(p *program, messages []storedMessage) []agenthost.TerminalTurn {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.unread = a.turn != nil; a.unread { // the last messages may be those of the host's turn
		return nil
	}
	known := a.known
	turns, newest := p.turnsAfter(messages, known, a.own)
	a.known = newest
	maps.DeleteFunc(a.own, func(id string, _ bool) bool { return id <= newest })
	if known == "" {
		return nil
	}
	return turns
}

// markOwn marks the messages of a turn of the host, which are not reported. If the events of the turn
// were missed, reportTerminalTurns has to read the newest message.
func (a *agent) markOwn(t *turn) {
	if !t.accepted {
		a.known = ""
	}
	if a.known == "" {
		return
	}
	for id, info := range t.messages {
		if info.SessionID == t.id && info.Role == roleUser {
			a.own[id] = true
		}
	}
}

// turnsAfter returns the turns that are over and whose first message is newer than known and not the
// host's own, and the last message before the others. Ids of messages ascend.
func (p *program) turnsAfter(
	messages []storedMessage, known string, own map[string]bool,
) (turns []agenthost.TerminalTurn, newest string) {
	newest = noMessages
	var open *stored
	for i := range messages {
		m := &messages[i]
		switch {
		case m.Info.ID <= known:
		case m.Info.Role == roleUser:
			if open != nil {
				turns = append(turns, open.turn())
			}
			if open = nil; !own[m.Info.ID] {
				open = &stored{program: p, first: m, before: newest}
			}
		case open != nil && string(m.Info.Summary) != "true":
			open.answers = append(open.answers, m)
		}
		newest = m.Info.ID
	}
	switch {
	case open == nil:
	case !open.over():
		newest = open.before
	default:
		turns = append(turns, open.turn())
	}
	return turns, newest
}

// stored is a turn as OpenCode stores it.
type stored struct {
	program *program
	first   *storedMessage
	answers []*storedMessage
	before  string // the message before
}

// over reports whether the last message has ended. OpenCode is idle a little earlier.
func (s *stored) over() bool {
	return len(s.answers) > 0 && over(&s.answers[len(s.answers)-1].Info)
}

func (s *stored) turn() agenthost.TerminalTurn {
	t := turn{spent: map[string]step{}}
	out := agenthost.TerminalTurn{ID: "terminal-" + s.first.Info.ID, Prompt: promptText(s.first)}
	for _, m := range s.answers {
		t.last = &m.Info
		for i := range m.Parts {
			part := &m.Parts[i]
			if part.Type == partStepFinish {
				t.spend(part)
				t.finish, t.context = part.Reason, part.Tokens.context()
			}
			out.Items = append(out.Items, s.items(m, part)...)
		}
	}
	out.Outcome = t.outcome()
	out.Outcome.Usage = t.usage()
	return out
}

// promptText returns the text that the user wrote.
func promptText(m *storedMessage) string {
	var texts []string
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Type == partText && !p.Synthetic && !p.Ignored {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

func (s *stored) items(m *storedMessage, p *part) []agenthost.TerminalItem {
	at := time.UnixMilli(cmp.Or(p.Time.Start, m.Info.Time.Created)).UTC()
	switch {
	case p.Type == partText && p.Text != "" && !p.Synthetic && !p.Ignored:
		return []agenthost.TerminalItem{{Text: p.Text, At: at}}
	case p.Type == partTool && p.State.Status != toolPending:
		call := agenthost.ToolCall{
			ID: m.Info.ID + "/" + p.CallID, Name: cmp.Or(s.program.config.toolName(p.Tool), "tool"),
			Input: stdio.OrEmpty(p.State.Input),
		}
		items := []agenthost.TerminalItem{{Call: &call, At: at}}
		if result := resultOf(&p.State); result != nil {
			result.ID, result.Name = call.ID, call.Name
			items = append(items, agenthost.TerminalItem{Result: result, At: at})
		}
		return items
	}
	return nil
}

// resultOf returns the result of a call that is over, nil for another.
func resultOf(state *toolState) *agenthost.ToolResult {
	switch state.Status {
	case toolCompleted:
		return &agenthost.ToolResult{Output: completedOutput(state)}
	case toolError:
		denied := isDenial(state.Error)
		return &agenthost.ToolResult{Output: stdio.Encode(state.Error), IsError: !denied, Denied: denied}
	}
	return nil
}

// completedOutput returns a tool's output. A failed command counts as completed, so its exit status
// is part of the result.
func completedOutput(s *toolState) json.RawMessage {
	if exit := s.exit(); exit != 0 {
		return stdio.Encode(map[string]any{"output": s.Output, "exit": exit})
	}
	return stdio.Encode(s.Output)
}

// isDenial reports whether a call failed because a user or a rule refused it.
func isDenial(message string) bool {
	return strings.HasPrefix(message, "The user rejected permission") ||
		strings.HasPrefix(message, "The user has specified a rule which prevents")
}
