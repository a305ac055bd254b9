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
	CustomAgentURL string
	Now            func() time.Time
	Log            *slog.Logger
}

// List is the user's interactions in a state ("" means all), newest first.
func (s *Interactions) List(ctx context.Context, userID, state string, limit int) ([]protocol.Interaction, error) {
	return nil, nil
}

// Answer relays an answer to the host. The row changes by the host's event only.
func (s *Interactions) Answer(ctx context.Context, userID, id string, req *protocol.AnswerRequest) (*protocol.Interaction, error) {
	return nil, nil
}
