package agenthost

import (
	"context"

	"bellhop/protocol"
)

func New(opts Options) (*Host, error) { return &Host{opts: opts, sessions: map[string]*session{}}, nil }

type session struct{}

func (h *Host) Open(ctx context.Context, req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
	return nil, nil
}
func (h *Host) Authorize(ctx context.Context, sessionID, token string) (Grant, error) {
	return Grant{}, nil
}
func (h *Host) Start(ctx context.Context, grant Grant, req *protocol.PromptRequest) (*Stream, error) {
	return nil, nil
}
func (h *Host) Attach(ctx context.Context, sessionID, cursor string, follow bool) (*Stream, error) {
	return nil, nil
}
func (h *Host) Interrupt(ctx context.Context, sessionID string) error { return nil }
func (h *Host) Answer(ctx context.Context, sessionID, interactionID string, req *protocol.AnswerRequest) error {
	return nil
}
func (h *Host) Events(ctx context.Context, sessionID string, epoch *int64, after int64, limit int) (*protocol.EventsResponse, error) {
	return nil, nil
}
func (h *Host) Revoke(ctx context.Context, sessionID string) error { return nil }
func (h *Host) Delete(ctx context.Context, sessionID string) (worktreeKept bool, err error) {
	return false, nil
}
func (h *Host) Status(ctx context.Context) (*HostStatus, error) { return nil, nil }
func (h *Host) WatchStatus() *StatusWatch                       { return nil }
func (h *Host) Run(ctx context.Context) error                   { return nil }
