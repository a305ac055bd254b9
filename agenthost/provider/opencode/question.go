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

// denialReason is sent to the agent with a denial that has no reason, because
// without a message OpenCode would end the turn.
const denialReason = "The user denied this. Do not try it again. Continue without it, or explain why you cannot."

// expiryReason is sent to the agent when a permission has expired.
const expiryReason = "No answer came in time, so this was not allowed. Continue without it, or explain why you cannot."

// expiryAnswer is sent to the agent as the answer when a question has expired,
// because rejecting the question would end the turn.
const expiryAnswer = "No answer came in time. Continue as you think best, and state your assumptions."

// Retries of answers that do not reach OpenCode.
const (
	answerTries = 5
	answerPause = time.Second
)

// request handles a request, or its answer, which may come from a terminal.
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
	t.CancelQuestion(p.RequestID, agenthost.ErrExpired)
	return nil
}

// isNew records a request. It returns false for a request that is already known.
func (t *turn) isNew(id string) bool {
	if id == "" || t.asked[id] {
		return false
	}
	t.asked[id] = true
	return true
}

// permission asks the user about a tool call, in the background.
func (t *turn) permission(asked permission) error {
	if !t.isNew(asked.ID) {
		return nil
	}
	q := agenthost.Question{
		Prompt: asked.prompt(), ToolName: t.program.config.toolName(asked.Permission), Args: asked.Metadata,
	}
	if asked.Tool != nil {
		c := t.call(*asked.Tool, asked.Permission)
		// The request may arrive before the state of the call.
		if err := t.announce(c, asked.Metadata); err != nil {
			return err
		}
		q.ToolCallID, q.ToolName, q.Input = c.ID, c.Name, c.Input
	}
	t.undecided.add(asked.SessionID)
	t.Question(asked.ID, func(ctx context.Context) error {
		decided := sync.OnceFunc(func() { t.undecided.done(asked.SessionID) })
		defer decided()
		answer, err := t.Out.Confirm(ctx, q)
		if err != nil || ctx.Err() != nil {
			return err
		}
		reason := cmp.Or(answer.Reason, denialReason)
		if answer.Expired {
			reason = expiryReason
		}
		if !answer.Approved {
			t.undecided.deny(asked.ID)
			decided()
			t.waitUntilSafeToReject(ctx, asked.SessionID)
		}
		return t.send(ctx, func() error { return t.program.client.reply(ctx, asked.ID, answer.Approved, reason) })
	})
	return nil
}

// waitUntilSafeToReject blocks until no other permission of the session is undecided:
// OpenCode rejects all of them together.
func (t *turn) waitUntilSafeToReject(ctx context.Context, session string) {
	for ctx.Err() == nil {
		t.undecided.wait(ctx, session)
		listed, err := t.program.client.permissions(ctx)
		if err != nil || !slices.ContainsFunc(listed, func(p permission) bool {
			return p.SessionID == session && !t.undecided.isDenied(p.ID)
		}) {
			return
		}
		pause(ctx, haltPause) // the permission is new; its event arrives soon
	}
}

// question asks the user its questions one after another, in the background.
func (t *turn) question(asked question) {
	if !t.isNew(asked.ID) {
		return
	}
	t.Question(asked.ID, func(ctx context.Context) error {
		var answers [][]string
		for _, q := range asked.Questions {
			var options []string
			for _, o := range q.Options {
				options = append(options, o.Label)
			}
			answer, err := t.Out.Ask(ctx, agenthost.Question{
				Prompt: cmp.Or(q.Question, q.Header), Options: options, Default: agenthost.Recommended(options),
			})
			switch {
			case err != nil || ctx.Err() != nil:
				return err
			case answer.Expired:
				answers = append(answers, []string{cmp.Or(answer.Text, expiryAnswer)})
			default:
				answers = append(answers, choices(answer.Text, options, q.Multiple))
			}
		}
		return t.send(ctx, func() error { return t.program.client.answer(ctx, asked.ID, answers) })
	})
}

// send sends an answer to OpenCode. It retries when the server cannot be reached,
// and stops when the server no longer needs the answer.
func (t *turn) send(ctx context.Context, do func() error) error {
	for range answerTries {
		err := gone(do())
		if err == nil || ctx.Err() != nil {
			return err
		}
		t.Log.Warn("the agent did not accept an answer", "error", err)
		pause(ctx, answerPause)
	}
	return errors.New("OpenCode does not take an answer")
}

// choices returns the chosen options of an answer if several may be chosen,
// otherwise its text.
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

// prompt describes the operation completely, because a user must see what the
// permission allows.
func (asked *permission) prompt() string {
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

// undecided counts, for each session, the permissions whose answer OpenCode does
// not have yet. A rejection also rejects all others of its session, even those that
// the user would allow. Therefore it must wait until there are none.
type undecided struct {
	mu      sync.Mutex
	open    map[string]int
	denied  map[string]bool
	changed chan struct{} // closed at the next change
}

func newUndecided() *undecided {
	return &undecided{open: map[string]int{}, denied: map[string]bool{}, changed: make(chan struct{})}
}

func (u *undecided) add(session string) { u.change(session, 1) }

func (u *undecided) done(session string) { u.change(session, -1) }

// deny records that a permission will be rejected.
func (u *undecided) deny(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.denied[id] = true
}

func (u *undecided) isDenied(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.denied[id]
}

func (u *undecided) change(session string, by int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open[session] += by
	close(u.changed)
	u.changed = make(chan struct{})
}

// wait blocks until the session has no undecided permission, or ctx ends.
func (u *undecided) wait(ctx context.Context, session string) {
	for {
		u.mu.Lock()
		open, changed := u.open[session], u.changed
		u.mu.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
