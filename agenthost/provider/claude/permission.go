package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
)

// askUser is the tool by which the program asks the user. Its permission request
// contains the questions, and the response the answers.
const askUser = "AskUserQuestion"

// request handles a request of the program, or its cancellation.
func (t *turn) request(m *message) error {
	id := m.request.RequestID
	if m.Type == "control_cancel_request" {
		t.CancelQuestion(id, nil)
		return nil
	}
	r := &m.request.Request
	if r.Subtype != "can_use_tool" {
		_ = t.connection.child.Send(t.Context(), controlError(id, "not supported"))
		return nil
	}
	c, err := t.call(r.ToolUseID, r.ToolName, r.Input)
	if err != nil {
		return err
	}
	decide := func(ctx context.Context) (any, error) { return t.confirm(ctx, c, m.request) }
	if r.ToolName == askUser {
		decide = func(ctx context.Context) (any, error) { return t.ask(ctx, c) }
	}
	t.Ask(t.connection.child, id, func(ctx context.Context) (any, error) {
		decision, err := decide(ctx)
		return controlResponse(id, decision), err
	})
	return nil
}

// confirm asks for permission. It never returns the program's suggestions for
// further permissions: they would be written into the user's repository, and later
// edits would run without asking.
func (t *turn) confirm(ctx context.Context, c *stdio.Call, r *request) (any, error) {
	answer, err := t.Out.Confirm(ctx, agenthost.Question{
		Prompt:     question(r),
		ToolCallID: c.ID,
		ToolName:   c.Name,
		Args:       c.Input,
	})
	switch {
	case err != nil:
		return nil, err
	case answer.Approved:
		return allow(c.Input), nil
	case answer.Expired:
		answer.Reason = cmp.Or(answer.Reason, "No answer came in time, so this is not allowed.")
	}
	return refuse(c, cmp.Or(answer.Reason, "The user said no.")), nil
}

// question returns the text that asks for permission.
func question(r *request) string {
	text := "Allow " + cmp.Or(r.Request.DisplayName, r.Request.ToolName)
	if r.Request.Description != "" {
		text += ": " + r.Request.Description
	}
	return text
}

func allow(input any) stdio.Object { return stdio.Object{"behavior": "allow", "updatedInput": input} }

func deny(message string) stdio.Object {
	return stdio.Object{"behavior": "deny", "message": message}
}

// refuse denies a call and marks it, because not every version of the program marks
// its result.
func refuse(c *stdio.Call, message string) stdio.Object {
	c.SetDenied(true)
	return deny(message)
}

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

// ask asks the user the questions one after the other. Unless all are answered, the
// tool is denied, because an empty answer would count as the user's.
func (t *turn) ask(ctx context.Context, c *stdio.Call) (any, error) {
	var input asked
	fields := map[string]json.RawMessage{}
	if err := errors.Join(json.Unmarshal(c.Input, &input), json.Unmarshal(c.Input, &fields)); err != nil {
		return refuse(c, "The questions cannot be read: "+err.Error()), nil //nolint:nilerr // the denial reports it
	}
	answers := map[string]string{}
	for _, q := range input.Questions {
		question := agenthost.Question{Prompt: q.Question, ToolCallID: c.ID, ToolName: c.Name}
		for _, option := range q.Options {
			question.Options = append(question.Options, option.Label)
			if option.Description != "" {
				question.Prompt += "\n- " + option.Label + ": " + option.Description
			}
		}
		question.Default = agenthost.Recommended(question.Options)
		answer, err := t.Out.Ask(ctx, question)
		switch {
		case err != nil:
			return nil, err
		case answer.Expired:
			return refuse(c, cmp.Or(answer.Reason, "The user did not answer in time.")), nil
		}
		answers[q.Question] = answer.Text
	}
	fields["answers"] = stdio.Encode(answers)
	return allow(fields), nil
}
