package codex

import (
	"cmp"
	"encoding/json"
	"strings"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// hear maps one message; an outcome ends the turn.
func (t *turn) hear(s saying) (*agenthost.Outcome, error) {
	if s.garbage != "" {
		t.skip(s.garbage)
		return nil, nil
	}
	if outcome := t.ends(s); outcome != nil {
		return outcome, nil
	}
	switch {
	case s.Method == "":
		return nil, nil
	case s.isRequest():
		return nil, t.requested(s.message)
	}
	var params about
	if err := json.Unmarshal(s.Params, &params); err != nil && len(s.Params) > 0 {
		t.skip("a message that cannot be read: " + excerpt([]byte(s.Method)))
		return nil, nil
	}
	if params.ThreadID != "" && params.ThreadID != t.program.thread {
		return nil, t.elsewhere(s.Method, params)
	}
	if params.TurnID != "" && params.TurnID != t.id {
		return nil, nil // the last words of an earlier turn
	}
	return nil, t.tell(s.Method, params)
}

// ends learns the turn's name and whether the message ends the turn.
func (t *turn) ends(s saying) *agenthost.Outcome {
	switch {
	case s.garbage != "":
	case s.Method == "" && string(s.ID) == t.request:
		return t.accepted(s.message)
	case s.Method == "turn/started", s.Method == "turn/completed":
		var params about
		if json.Unmarshal(s.Params, &params) != nil || params.Turn == nil || params.ThreadID != t.program.thread {
			return nil
		}
		if s.Method == "turn/started" {
			t.id = cmp.Or(t.id, params.Turn.ID)
			return nil
		}
		if params.Turn.ID == t.id {
			return outcome(params.Turn)
		}
	}
	return nil
}

// accepted reads the response to turn/start.
func (t *turn) accepted(m message) *agenthost.Outcome {
	var answer struct {
		Turn turnInfo `json:"turn"`
	}
	switch {
	case m.Error != nil:
		return &agenthost.Outcome{FinishReason: protocol.FinishError, Err: "The agent refuses the prompt: " + m.Error.Message}
	case json.Unmarshal(m.Result, &answer) != nil || answer.Turn.ID == "":
		return &agenthost.Outcome{FinishReason: protocol.FinishError, Err: "The agent answers the prompt with something unknown"}
	}
	t.id = cmp.Or(t.id, answer.Turn.ID)
	return nil
}

func outcome(turn *turnInfo) *agenthost.Outcome {
	switch turn.Status {
	case "interrupted":
		return &agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}
	case "failed":
		return &agenthost.Outcome{FinishReason: protocol.FinishError, Err: turn.Error.words()}
	default:
		return &agenthost.Outcome{FinishReason: protocol.FinishStop}
	}
}

// tell maps a notification of the turn.
func (t *turn) tell(method string, params about) error {
	switch method {
	case "item/agentMessage/delta", "item/plan/delta":
		return t.speech.add(params.ItemID, params.Delta)
	case "item/reasoning/summaryTextDelta":
		return t.speech.think(params.ItemID, params.Index, params.Delta)
	case "item/reasoning/textDelta":
		return t.speech.think(params.ItemID, -1, params.Delta)
	case "item/started", "item/completed":
		return t.item(method == "item/completed", params.Item)
	case "serverRequest/resolved":
		t.resolved(params.RequestID)
	case "error":
		if params.WillRetry && params.Error != nil {
			t.out.Notice("warning", params.Error.words())
		}
	case "warning", "guardianWarning", "model/rerouted":
		if text := cmp.Or(params.Message, params.Summary); text != "" {
			t.out.Notice("warning", text)
		}
	case "thread/tokenUsage/updated":
		t.spent(params)
	}
	return nil
}

// elsewhere maps what another thread of the program does, which is a sub-agent
// of ours: its tools act on the workspace, its words are not for the user.
func (t *turn) elsewhere(method string, params about) error {
	switch method {
	case "serverRequest/resolved":
		t.resolved(params.RequestID)
	case "item/started", "item/completed":
		return t.toolItem(method == "item/completed", params.Item)
	}
	return nil
}

// spent keeps what the turn has cost so far: the thread's total, less what it
// was before the turn. A resumed thread does not say what it was; the first
// total less the first request's share is.
func (t *turn) spent(params about) {
	if params.TokenUsage == nil {
		return
	}
	total := params.TokenUsage.Total
	if !t.program.counts {
		t.program.spent, t.program.counts = total.minus(params.TokenUsage.Last), true
	}
	if !t.counting {
		t.before, t.counting = t.program.spent, true
	}
	t.program.spent = total
	cost := total.minus(t.before)
	t.usage = encode(object{
		"inputTokens": cost.Input, "cachedInputTokens": cost.Cached,
		"outputTokens": cost.Output, "reasoningTokens": cost.Reasoning, "totalTokens": cost.Total,
	})
}

// speech is what the agent says: text and reasoning, by item.
type speech struct {
	out  agenthost.Output
	item string // whose text block is open, "" = none
	said map[string]*strings.Builder

	thought string // whose reasoning is open
	part    int
}

// add adds to an item's text. Another item's open block ends there: an item
// that is cut off is never completed.
func (s *speech) add(id, delta string) error {
	if delta == "" {
		return nil
	}
	if s.item != id {
		if err := s.end(""); err != nil {
			return err
		}
		s.item = id
	}
	if s.said == nil {
		s.said = map[string]*strings.Builder{}
	}
	if s.said[id] == nil {
		s.said[id] = &strings.Builder{}
	}
	s.said[id].WriteString(delta)
	return s.out.Text(delta)
}

// complete ends an item's text. Where its block was closed by a tool call, only
// what it had not said yet is left to say.
func (s *speech) complete(id, final string) error {
	if s.item == id {
		return s.end(final)
	}
	if said := s.said[id]; said != nil {
		rest, more := strings.CutPrefix(final, said.String())
		if !more || rest == "" {
			return nil
		}
		final = rest
	}
	if err := s.end(""); err != nil {
		return err
	}
	return s.end(final)
}

// end closes the open blocks.
func (s *speech) end(final string) error {
	if s.thought != "" {
		s.thought = ""
		if err := s.out.EndReasoning(); err != nil {
			return err
		}
	}
	if s.item == "" && final == "" {
		return nil
	}
	s.item = ""
	return s.out.EndText(final)
}

// think adds to an item's reasoning; its parts are apart by an empty line.
func (s *speech) think(id string, part int, delta string) error {
	if delta == "" {
		return nil
	}
	if s.thought != id {
		if err := s.end(""); err != nil {
			return err
		}
		s.thought, s.part = id, part
	}
	if part != s.part {
		s.part, delta = part, "\n\n"+delta
	}
	return s.out.Reasoning(delta)
}
