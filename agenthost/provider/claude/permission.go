package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"bellhop/agenthost"
)

// askUser is the tool by which the program asks the user; its permission
// request carries the questions, the answer to it theirs.
const askUser = "AskUserQuestion"

// request takes a request of the program, or its end.
func (t *turn) request(s *saying) error {
	id := s.request.RequestID
	if s.Type == "control_cancel_request" {
		t.mu.Lock()
		withdraw := t.open[id]
		t.mu.Unlock()
		if withdraw != nil {
			withdraw()
		}
		return nil
	}
	r := &s.request.Request
	if r.Subtype != "can_use_tool" {
		t.program.send(t.asking, controlError(id, "not supported"))
		return nil
	}
	c, err := t.call(r.ToolUseID, r.ToolName, r.Input)
	if err != nil {
		return err
	}
	put := func(ctx context.Context) (any, error) { return t.confirm(ctx, c, s.request) }
	if r.ToolName == askUser {
		put = func(ctx context.Context) (any, error) { return t.ask(ctx, c) }
	}
	t.question(id, put)
	return nil
}

// question puts a request to the user and passes the answer on; the program may
// go on talking meanwhile.
func (t *turn) question(id string, put func(context.Context) (any, error)) {
	ctx, withdraw := context.WithCancel(t.asking)
	t.mu.Lock()
	fresh := id != "" && t.open[id] == nil
	if fresh {
		t.open[id] = withdraw
	}
	t.mu.Unlock()
	if !fresh {
		withdraw()
		t.garbage.skip(t, "a question without a request id of its own")
		return
	}
	t.questions.Go(func() {
		defer withdraw()
		answer, err := put(ctx)
		t.mu.Lock()
		delete(t.open, id)
		t.mu.Unlock()
		switch {
		case ctx.Err() != nil: // withdrawn, by the program or the turn's end
		case err != nil:
			select {
			case t.failed <- err:
			default:
			}
		default:
			t.program.send(ctx, controlResponse(id, answer))
		}
	})
}

// confirm asks for permission. What the program suggests to allow beyond this
// one call is never sent back: it would write into the user's repository, and
// let later edits run unasked.
func (t *turn) confirm(ctx context.Context, c *call, r *request) (any, error) {
	answer, err := t.out.Confirm(ctx, agenthost.Question{
		Prompt:     wording(r),
		ToolCallID: c.id,
		ToolName:   c.name,
		Args:       c.input,
	})
	switch {
	case err != nil:
		return nil, err
	case answer.Approved:
		return allow(c.input), nil
	case answer.Expired:
		answer.Reason = cmp.Or(answer.Reason, "Nobody answered in time, so that this is not allowed.")
	}
	t.refuse(c)
	return deny(cmp.Or(answer.Reason, "The user said no.")), nil
}

// refuse remembers that we said no: not every version tells it in the result.
func (t *turn) refuse(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.denied = true
}

func wording(r *request) string {
	words := "Allow " + cmp.Or(r.Request.DisplayName, r.Request.ToolName)
	if r.Request.Description != "" {
		words += ": " + r.Request.Description
	}
	return words
}

func allow(input any) object { return object{"behavior": "allow", "updatedInput": input} }

func deny(message string) object { return object{"behavior": "deny", "message": message} }

// asked is the input of AskUserQuestion.
type asked struct {
	Questions []struct {
		Question string `json:"question"`
		Options  []struct {
			Label       string `json:"label"`
			Description string `json:"description"`
		} `json:"options"`
	} `json:"questions"`
}

// ask puts the questions one after the other. Without an answer to each of them
// the tool is denied: an empty one would pass for the user's.
func (t *turn) ask(ctx context.Context, c *call) (any, error) {
	var input asked
	fields := map[string]json.RawMessage{}
	if err := errors.Join(json.Unmarshal(c.input, &input), json.Unmarshal(c.input, &fields)); err != nil {
		t.refuse(c)
		return deny("The questions cannot be read: " + err.Error()), nil //nolint:nilerr // the program is told
	}
	answers := map[string]string{}
	for _, q := range input.Questions {
		question := agenthost.Question{Prompt: q.Question, ToolCallID: c.id, ToolName: c.name}
		for _, option := range q.Options {
			question.Options = append(question.Options, option.Label)
			if option.Description != "" {
				question.Prompt += "\n- " + option.Label + ": " + option.Description
			}
		}
		answer, err := t.out.Ask(ctx, question)
		switch {
		case err != nil:
			return nil, err
		case answer.Expired:
			t.refuse(c)
			return deny(cmp.Or(answer.Reason, "The user did not answer in time.")), nil
		}
		answers[q.Question] = answer.Text
	}
	raw, err := json.Marshal(answers)
	if err != nil {
		return nil, err
	}
	fields["answers"] = raw
	return allow(fields), nil
}
