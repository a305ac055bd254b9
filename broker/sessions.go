package broker

import (
	"context"
	"log/slog"
	"time"

	"bellhop/protocol"
)

// Sessions is what users do with a task's session on its host.
type Sessions struct {
	Store          Store
	Link           Link
	Notifier       Notifier
	Reconciler     *Reconciler
	BrokerID       string // this installation
	PublicURL      string // where hosts post to
	CustomAgentURL string // overrides every task's agent URL
	Now            func() time.Time
	Log            *slog.Logger
}

// CheckIn stores the user's message, then opens the session on the host.
func (s *Sessions) CheckIn(ctx context.Context, userID string, req *protocol.CheckInRequest) (*protocol.CheckInResponse, error) {
	return nil, nil
}

// Attach opens the session without a turn.
func (s *Sessions) Attach(ctx context.Context, userID, taskID string) (*protocol.AttachResponse, error) {
	return nil, nil
}

// Interrupt stops the open turn; the host answers when the agent has stopped.
func (s *Sessions) Interrupt(ctx context.Context, userID, taskID string) error { return nil }

// Renew exchanges a webhook token, expired or not, for a fresh one (protocol
// 1.5). password is the bearer the host sent, "" when none.
func (s *Sessions) Renew(ctx context.Context, webhookToken, password string) (*protocol.RenewResponse, error) {
	return nil, nil
}
