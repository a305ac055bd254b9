package api_test

import (
	"context"
	"sync"

	"bellhop/broker"
	"bellhop/protocol"
)

// host implements the calls to agent hosts: it returns scripted results and records
// its arguments.
type host struct {
	isBasic bool   // without capabilities and cursor
	owner   string // user who has a workspace
	mu      sync.Mutex
	err     error
	opened  []*protocol.OpenSessionRequest
	asked   []broker.Target

	announced []*protocol.HostAnnouncements

	installation *protocol.Installation // the last one
	offered      int                    // how often it was asked for its offer
}

func (h *host) call(t broker.Target) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, t)
	return h.err
}

func (h *host) Reconcile(
	_ context.Context, t broker.Target, _ *protocol.ReconcileRequest,
) (*protocol.ReconcileResponse, error) {
	return &protocol.ReconcileResponse{}, h.call(t)
}

// Sessions reports one session, which no task belongs to.
func (h *host) Sessions(_ context.Context, t broker.Target, _, _ string, _ int) (*protocol.BoundSessionList, error) {
	return &protocol.BoundSessionList{Sessions: []protocol.BoundSession{{SessionID: "orphan", Title: "Lost"}}}, h.call(t)
}

func (h *host) Session(_ context.Context, t broker.Target, id string) (*protocol.BoundSession, error) {
	return &protocol.BoundSession{SessionID: id, Title: "Lost"}, h.call(t)
}

// fail makes every later call fail.
func (h *host) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
}

// basic makes the host one that knows only the basic flow.
func (h *host) basic(is bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.isBasic = is
}

// webhook is the webhook URL of the session that was opened last.
func (h *host) webhook() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.opened[len(h.opened)-1].WebhookURL
}

func (h *host) Open(
	_ context.Context, t broker.Target, req *protocol.OpenSessionRequest,
) (*protocol.OpenSessionResponse, error) {
	if err := h.call(t); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opened = append(h.opened, req)
	if h.isBasic {
		return &protocol.OpenSessionResponse{Token: "basic"}, nil
	}
	return &protocol.OpenSessionResponse{
		Token: "canary-stream-token", Cursor: req.Cursor, Status: protocol.StatusIdle,
		Capabilities: []string{protocol.CapabilityEvents},
	}, nil
}

func (h *host) Events(
	_ context.Context, t broker.Target, _ string, _ broker.EventsAfter, _ int,
) (*protocol.EventsResponse, error) {
	return &protocol.EventsResponse{Epoch: 2, CurrentEpoch: 2}, h.call(t) // it confirms epochs up to 2
}

func (h *host) OpenTurn(_ context.Context, t broker.Target, _ string) (*string, error) {
	return nil, h.call(t)
}

func (h *host) Interrupt(_ context.Context, t broker.Target, _, _ string) error { return h.call(t) }

func (h *host) Restart(_ context.Context, t broker.Target, id string) (*protocol.RestartResponse, error) {
	return &protocol.RestartResponse{Success: true, SessionID: id, EndedTurn: "turn-1"}, h.call(t)
}

func (h *host) Answer(_ context.Context, t broker.Target, _, _ string, _ *protocol.AnswerRequest) error {
	return h.call(t)
}

func (h *host) Diff(_ context.Context, t broker.Target, _ string) (*protocol.Diff, error) {
	return &protocol.Diff{
		Files: []protocol.DiffFile{{Path: "a.txt", Status: protocol.DiffAdded, Additions: 1}}, Patch: "+a\n",
	}, h.call(t)
}

func (h *host) Workspace(_ context.Context, t broker.Target, _ string) (*protocol.SessionWorkspace, error) {
	return &protocol.SessionWorkspace{
		Workspace: &protocol.WorkspaceState{Branch: "bellhop/1", Dirty: true, Metadata: map[string]string{"port": "3000"}},
	}, h.call(t)
}

// Workspaces answers with a workspace of h.owner.
func (h *host) Workspaces(_ context.Context, t broker.Target, userID string) (*protocol.WorkspaceList, error) {
	list := &protocol.WorkspaceList{Workspaces: []protocol.Workspace{}}
	if userID == h.owner {
		list.Workspaces = append(list.Workspaces, protocol.Workspace{
			Name: "fix", Project: "shop", Branch: "bellhop/fix", Metadata: map[string]string{},
			CreatedAt: start, CreatedBy: "s1",
		})
	}
	return list, h.call(t)
}

func (h *host) Offer(_ context.Context, t broker.Target) (*protocol.HostOffer, error) {
	h.mu.Lock()
	h.offered++
	h.mu.Unlock()
	return &protocol.HostOffer{
		DefaultAgent: "demo", Projects: []protocol.OfferedProject{},
		PermissionModes: []protocol.PermissionMode{protocol.ModeAsk},
		Agents: []protocol.OfferedAgent{{
			ID: "demo", Title: "Demo agent", Kind: "jsonl", Installed: true,
			Models: []protocol.Choice{}, Modes: []protocol.Choice{},
		}},
	}, h.call(t)
}

func (h *host) Installations(_ context.Context, t broker.Target) (*protocol.InstallationList, error) {
	if err := h.call(t); err != nil {
		return nil, err
	}
	return &protocol.InstallationList{Allowed: true, Installations: []protocol.Installation{*h.installation}}, nil
}

func (h *host) Install(
	_ context.Context, t broker.Target, req *protocol.InstallRequest,
) (*protocol.Installation, error) {
	if err := h.call(t); err != nil {
		return nil, err
	}
	h.installation = &protocol.Installation{
		ID: "i1", Program: req.Program, Title: "Codex", Version: "1.0.0", State: protocol.InstallationRunning,
		StartedAt: start, Lines: []string{"Downloads Codex"},
	}
	return new(*h.installation), nil
}

func (h *host) CancelInstallation(
	_ context.Context, t broker.Target, program string,
) (*protocol.Installation, error) {
	if h.installation == nil || h.installation.Program != program {
		return nil, protocol.Errorf(protocol.CodeNotFound, "It was never installed from a broker")
	}
	h.installation.State = protocol.InstallationCancelled
	return new(*h.installation), h.call(t)
}

func (h *host) Announce(_ context.Context, t broker.Target, req *protocol.HostAnnouncements) error {
	h.mu.Lock()
	h.announced = append(h.announced, req)
	h.mu.Unlock()
	return h.call(t)
}

func (h *host) OnlyCopies(_ context.Context, t broker.Target, _ string) (*protocol.OnlyCopies, error) {
	return &protocol.OnlyCopies{ID: "list", Items: []protocol.OnlyCopy{{Kind: protocol.OnlyIgnored, Name: ".env", Count: 1}}}, h.call(t)
}

func (h *host) Delete(_ context.Context, t broker.Target, _, _ string) (*protocol.OnlyCopies, error) {
	return nil, h.call(t)
}

func (h *host) Revoke(_ context.Context, t broker.Target, _ string) error { return h.call(t) }

func (h *host) RevokeCredentials(_ context.Context, t broker.Target, _ *protocol.RevokeRequest) error {
	return h.call(t)
}

func (h *host) Ready(_ context.Context, t broker.Target) (broker.HostHealth, bool, error) {
	return broker.HostOK, false, h.call(t)
}
