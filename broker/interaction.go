package broker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"bellhop/protocol"
)

// Interaction is a question to the user. The host assigns its ID.
type Interaction struct {
	ID         string
	TaskID     string
	TaskTitle  string // filled by reads for the user
	TurnID     string
	State      protocol.InteractionState
	Kind       protocol.InteractionKind
	Prompt     string
	ToolCallID string
	ToolName   string
	Args       json.RawMessage
	Level      string
	Warning    string
	Default    string
	Options    []string
	ExpiresAt  string
	Answer     *protocol.InteractionAnswer
	CreatedAt  time.Time
}

// Interactions lists and answers the questions of all tasks of a user.
type Interactions struct {
	Store      InteractionStore
	Targets    *Targets
	Link       Link
	Reconciler *Reconciler   // woken for an unknown question or a doubtful response; may be nil
	Patience   time.Duration // how long an answer waits for its question; 0 = 5 s
}

// InteractionStore is what Interactions reads.
type InteractionStore interface {
	// Task returns CodeNotFound for another user's or a deleted task.
	Task(ctx context.Context, userID, id string) (*Task, error)
	Interactions(ctx context.Context, userID, state string, limit int) ([]Interaction, error)
	// Interaction returns the user's newest interaction with this id, open ones
	// first.
	Interaction(ctx context.Context, userID, id string) (*Interaction, error)
	// UnfinishedTasks returns the ids of the user's newest tasks with a turn that has not ended.
	UnfinishedTasks(ctx context.Context, userID string) ([]string, error)
}

// List returns the user's interactions in a state ("" means all), newest first.
func (s *Interactions) List(ctx context.Context, userID, state string, limit int) ([]protocol.Interaction, error) {
	switch protocol.InteractionState(state) {
	case "", protocol.InteractionOpen, protocol.InteractionResolved, protocol.InteractionExpired:
	default:
		return nil, protocol.Errorf(protocol.CodeInvalid, "state must be open, resolved or expired")
	}
	found, err := s.Store.Interactions(ctx, userID, state, clamp(limit))
	if err != nil {
		return nil, err
	}
	list := make([]protocol.Interaction, len(found))
	for i := range found {
		list[i] = *found[i].View()
	}
	return list, nil
}

// Answer forwards an answer to the host, which decides: CodeAnswered when another
// answer came first, CodeExpired when it is too late, CodeBadGateway when the host
// cannot be reached. Only the host's event changes the stored interaction.
func (s *Interactions) Answer(
	ctx context.Context, userID, id string, req *protocol.AnswerRequest,
) (*protocol.Interaction, error) {
	q, err := s.await(ctx, userID, id)
	if err != nil {
		return nil, err
	}
	if err := q.check(req); err != nil {
		return nil, err
	}
	task, err := s.Store.Task(ctx, userID, q.TaskID)
	if err != nil {
		return nil, err
	}
	if q.State == protocol.InteractionResolved && q.Answer != nil {
		if !q.sameAnswer(req) {
			return nil, protocol.Errorf(protocol.CodeAnswered, "The interaction was answered otherwise")
		}
		return q.View(), nil
	}
	target, err := s.Targets.of(ctx, task)
	if err != nil {
		return nil, err
	}
	sent := *req
	sent.By = userID // the host journals who gave the answer
	err = s.Link.Answer(ctx, target, q.TaskID, q.ID, &sent)
	switch protocol.CodeOf(err) {
	case "":
	case protocol.CodeGone, protocol.CodeNotFound: // the host no longer has the question
		return nil, errExpired()
	default:
		if s.Reconciler != nil && errors.Is(err, ErrDoubtful) {
			s.Reconciler.Wake(q.TaskID)
		}
		return nil, err
	}
	// The host has accepted the answer. Its event, which changes the row, may follow.
	current, err := s.Store.Interaction(ctx, userID, id)
	if err == nil && current.State != protocol.InteractionOpen {
		return current.View(), nil
	}
	q.State, q.Answer = protocol.InteractionResolved, answerOf(q.Kind, &sent)
	return q.View(), nil
}

// await returns the question. Its part in the stream can be faster than its webhook, so
// while a turn of the user is unfinished, await waits for it and has the hosts asked.
func (s *Interactions) await(ctx context.Context, userID, id string) (*Interaction, error) {
	q, err := s.Store.Interaction(ctx, userID, id)
	if protocol.CodeOf(err) != protocol.CodeNotFound {
		return q, err
	}
	tasks, failure := s.Store.UnfinishedTasks(ctx, userID)
	if failure != nil || len(tasks) == 0 {
		return nil, cmp.Or(failure, err)
	}
	ask := func() {
		for _, task := range tasks {
			if s.Reconciler != nil {
				s.Reconciler.Wake(task)
			}
		}
	}
	found, failure := pollUntil(ctx, cmp.Or(s.Patience, awaitDefault), func() (bool, error) {
		row, err := s.Store.Interaction(ctx, userID, id)
		if protocol.CodeOf(err) == protocol.CodeNotFound {
			return false, nil
		}
		q = row
		return err == nil, err
	}, ask)
	if failure == nil && !found {
		failure = err
	}
	return q, failure
}

// check refuses an answer that does not fit the question.
func (q *Interaction) check(req *protocol.AnswerRequest) error {
	switch {
	case q.State == protocol.InteractionExpired:
		return errExpired()
	case req.Remember != "" && req.Remember != protocol.RememberSession:
		return protocol.Errorf(protocol.CodeInvalid, `remember must be "session"`)
	case q.Kind == protocol.KindConfirm && req.Approved == nil && !slices.Contains(q.Options, req.Text):
		return protocol.Errorf(protocol.CodeInvalid, "approved is required")
	}
	return nil
}

// answerOf is the answer that a host journals for a request.
func answerOf(kind protocol.InteractionKind, req *protocol.AnswerRequest) *protocol.InteractionAnswer {
	if kind == protocol.KindAsk {
		return &protocol.InteractionAnswer{Text: req.Text, Reason: req.Reason, By: req.By}
	}
	return &protocol.InteractionAnswer{Approved: req.Approved, Reason: req.Reason, By: req.By}
}

func errExpired() error {
	return protocol.Errorf(protocol.CodeExpired, "The interaction's time is over")
}

// sameAnswer compares approved for a confirm, and the text for an ask and for a confirm whose answer was picked by name.
func (q *Interaction) sameAnswer(req *protocol.AnswerRequest) bool {
	sameText := q.Answer.Text == req.Text
	if q.Kind == protocol.KindAsk || sameText && req.Text != "" {
		return sameText
	}
	return q.Answer.Approved != nil && req.Approved != nil && *q.Answer.Approved == *req.Approved
}
