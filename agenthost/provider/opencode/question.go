package opencode

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"bellhop/agenthost"
)

// stockDenial is what the agent is told of a denial without a reason: without
// any message OpenCode would end the turn.
const stockDenial = "The user denied this. Do not try it again; go on without it, or say why you cannot."

// stockExpiry is what the agent is told when nobody answered.
const stockExpiry = "Nobody answered in time, so this was not allowed. Go on without it, or say why you cannot."

// stockSilence stands for an answer that nobody gave: a question that is
// rejected would end the turn.
const stockSilence = "Nobody answered in time. Go on with what you think best, and say what you assumed."

// answers to OpenCode that do not come through are sent again.
const (
	answerTries = 5
	answerPause = time.Second
)

// pending is a permission or question that the user is asked.
type pending struct {
	give func(cause error) // up
}

// request maps what is asked and what was answered, by us or in a terminal.
func (t *turn) request(ctx context.Context, e event, p properties) error {
	if !t.ours(ctx, p.SessionID) {
		return nil
	}
	switch e.Type {
	case eventPermissionAsked:
		var asked permission
		if err := json.Unmarshal(e.Properties, &asked); err != nil {
			return fmt.Errorf("OpenCode's permission: %w", err)
		}
		return t.permission(asked)
	case eventQuestionAsked:
		var asked question
		if err := json.Unmarshal(e.Properties, &asked); err != nil {
			return fmt.Errorf("OpenCode's question: %w", err)
		}
		t.question(asked)
		return nil
	}
	t.expire(p.RequestID)
	return nil
}

// expire gives a question up that the agent no longer has.
func (t *turn) expire(id string) {
	if p := t.pending[id]; p != nil {
		delete(t.pending, id)
		p.give(agenthost.ErrExpired)
	}
}

// open notes a request; false for one that is known.
func (t *turn) open(id string) (context.Context, bool) {
	if id == "" || t.expecting[id] {
		return nil, false
	}
	ctx, cancel := context.WithCancelCause(t.asking)
	t.expecting[id] = true
	t.pending[id] = &pending{give: cancel}
	return ctx, true
}

// permission asks the user about a tool call, in the background.
func (t *turn) permission(asked permission) error {
	ctx, fresh := t.open(asked.ID)
	if !fresh {
		return nil
	}
	q := agenthost.Question{Prompt: wording(asked), ToolName: asked.Permission, Args: asked.Metadata}
	if asked.Tool != nil {
		c := t.call(*asked.Tool, asked.Permission)
		// The request can be quicker than the state of the call.
		if err := t.announce(c, asked.Metadata); err != nil {
			return err
		}
		q.ToolCallID, q.ToolName = c.id, c.name
	}
	t.undecided.add(asked.SessionID)
	t.questions.Go(func() {
		decided := sync.OnceFunc(func() { t.undecided.done(asked.SessionID) })
		defer decided()
		answer, err := t.out.Confirm(ctx, q)
		if t.over(ctx, err) {
			return
		}
		reason := cmp.Or(answer.Reason, stockDenial)
		if answer.Expired {
			reason = stockExpiry
		}
		if !answer.Approved {
			t.undecided.deny(asked.ID)
			decided()
			t.alone(ctx, asked.SessionID)
		}
		t.send(ctx, func() error { return t.program.client.reply(ctx, asked.ID, answer.Approved, reason) })
	})
	return nil
}

// alone returns when a rejection takes nothing along that may be allowed yet.
func (t *turn) alone(ctx context.Context, session string) {
	for ctx.Err() == nil {
		t.undecided.wait(ctx, session)
		listed, err := t.program.client.permissions(ctx)
		if err != nil || !slices.ContainsFunc(listed, func(p permission) bool {
			return p.SessionID == session && !t.undecided.isDenied(p.ID)
		}) {
			return
		}
		timer := time.NewTimer(haltPause) // asked just now, and heard of soon
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// question asks the user, one by one, in the background.
func (t *turn) question(asked question) {
	ctx, fresh := t.open(asked.ID)
	if !fresh {
		return
	}
	t.questions.Go(func() {
		var answers [][]string
		for _, q := range asked.Questions {
			var options []string
			for _, o := range q.Options {
				options = append(options, o.Label)
			}
			answer, err := t.out.Ask(ctx, agenthost.Question{Prompt: cmp.Or(q.Question, q.Header), Options: options})
			if t.over(ctx, err) {
				return
			}
			if answer.Expired {
				answers = append(answers, []string{cmp.Or(answer.Text, stockSilence)})
				continue
			}
			answers = append(answers, choices(answer.Text, options, q.Multiple))
		}
		t.send(ctx, func() error { return t.program.client.answer(ctx, asked.ID, answers) })
	})
}

// over reports whether an answer has nowhere to go. An output that failed ends
// the turn.
func (t *turn) over(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	if err == nil {
		return false
	}
	select {
	case t.failed <- err:
	default:
	}
	return true
}

// send gives OpenCode an answer; it is asked again when the server could not be
// reached, and left alone when it no longer waits.
func (t *turn) send(ctx context.Context, do func() error) {
	for range answerTries {
		err := do()
		if err == nil || refused(err) || ctx.Err() != nil {
			return
		}
		t.agent.spec.Log.Warn("the agent did not take an answer", "error", err)
		timer := time.NewTimer(answerPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
	select {
	case t.failed <- errors.New("OpenCode does not take an answer"):
	default:
	}
}

// choices reads an answer: labels where several may be chosen, else one text.
func choices(text string, options []string, multiple bool) []string {
	if !multiple || slices.Contains(options, text) {
		return []string{text}
	}
	var chosen []string
	for choice := range strings.SplitSeq(text, ",") {
		if choice = strings.TrimSpace(choice); !slices.Contains(options, choice) {
			return []string{text}
		}
		chosen = append(chosen, choice)
	}
	return chosen
}

// wording names what would be done, whole: a user must see what is allowed.
func wording(asked permission) string {
	var known struct {
		Command  string `json:"command"`
		Filepath string `json:"filepath"`
		URL      string `json:"url"`
	}
	_ = json.Unmarshal(asked.Metadata, &known) // other permissions have other metadata
	patterns := strings.Join(asked.Patterns, ", ")
	switch asked.Permission {
	case "bash":
		return "Run the command: " + cmp.Or(known.Command, patterns)
	case "edit":
		return "Edit the file: " + cmp.Or(known.Filepath, patterns)
	case "webfetch":
		return "Fetch: " + cmp.Or(known.URL, patterns)
	case "external_directory":
		return "Reach outside the workspace: " + cmp.Or(known.Filepath, patterns)
	}
	return strings.TrimSpace("Allow " + asked.Permission + ": " + patterns)
}
