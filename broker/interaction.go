package broker

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"bellhop/protocol"
)

// Interaction is a question to the user. Its ID is the host's.
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
	Default    string
	Options    []string
	ExpiresAt  string
	Answer     *protocol.InteractionAnswer
	CreatedAt  time.Time
}

// Interactions is the inbox of questions over all tasks of a user.
type Interactions struct {
	Store          Store
	Link           Link
	CustomAgentURL string // as in Sessions
	Now            func() time.Time
	Log            *slog.Logger
}

// List is the user's interactions in a state ("" means all), newest first.
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

// Answer relays an answer to the host, which decides: CodeAnswered when another
// came first, CodeExpired when it is too late, CodeBadGateway when the host is
// away. The row changes by the host's event only.
func (s *Interactions) Answer(ctx context.Context, userID, id string, req *protocol.AnswerRequest) (*protocol.Interaction, error) {
	q, err := s.Store.Interaction(ctx, userID, id)
	if err != nil {
		return nil, err
	}
	if q.State == protocol.InteractionExpired {
		return nil, errExpired()
	}
	if req.Remember != "" && req.Remember != protocol.RememberSession {
		return nil, protocol.Errorf(protocol.CodeInvalid, `remember must be "session"`)
	}
	if q.Kind == protocol.KindConfirm && req.Approved == nil {
		return nil, protocol.Errorf(protocol.CodeInvalid, "approved is required")
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
	target, err := targetOf(ctx, s.Store, task, s.CustomAgentURL, s.Now())
	if err != nil {
		return nil, err
	}
	err = s.Link.Answer(ctx, target, q.TaskID, q.ID, req)
	switch protocol.CodeOf(err) {
	case "":
	case protocol.CodeGone, protocol.CodeNotFound: // the host has it no more
		return nil, errExpired()
	default:
		return nil, err
	}
	// The host's event may have come already.
	if now, err := s.Store.Interaction(ctx, userID, id); err == nil {
		q = now
	}
	return q.View(), nil
}

func errExpired() error {
	return protocol.Errorf(protocol.CodeExpired, "The interaction's time is over")
}

// sameAnswer compares what counts: approved for a confirm, the text for an ask.
func (q *Interaction) sameAnswer(req *protocol.AnswerRequest) bool {
	if q.Kind == protocol.KindAsk {
		return q.Answer.Text == req.Text
	}
	return q.Answer.Approved != nil && req.Approved != nil && *q.Answer.Approved == *req.Approved
}
