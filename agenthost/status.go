package agenthost

import (
	"cmp"
	"context"
	"slices"
	"time"

	"bellhop/protocol"
)

// HostStatus is what GET /status shows.
type HostStatus struct {
	StartedAt      time.Time         `json:"startedAt"`
	OpenTurns      int               `json:"openTurns"`
	Unacknowledged int64             `json:"unacknowledged"` // events the brokers do not have yet
	Sessions       []SessionStatus   `json:"sessions"`
	Workspaces     []WorkspaceStatus `json:"workspaces"`
	DiskBytes      *int64            `json:"diskBytes,omitempty"` // of workspaces, clones and state; absent when it is not known
	DeadLetters    []DeadLetter      `json:"deadLetters"`
	Notices        []string          `json:"notices"` // a journal that was set aside, a policy that is wrong
}

// SessionStatus is one session of a HostStatus.
type SessionStatus struct {
	ID               string          `json:"id"`
	Agent            string          `json:"agent"`
	Project          string          `json:"project"`
	Status           protocol.Status `json:"status"`
	Reason           string          `json:"reason"`
	OpenTurn         string          `json:"openTurn"`
	OpenInteractions int             `json:"openInteractions"`
	Cursor           protocol.Cursor `json:"cursor"`
	Acknowledged     protocol.Cursor `json:"acknowledged"`
	Unacknowledged   int64           `json:"unacknowledged"`
	Outbox           OutboxState     `json:"outbox"`
	OutboxError      string          `json:"outboxError,omitempty"`
	LastActivityAt   time.Time       `json:"lastActivityAt"`
}

// StatusWatch signals on C at once and after every change; what it is, Status
// tells. Signals that nobody took yet become one.
type StatusWatch struct {
	C     <-chan struct{}
	close func()
}

// Close ends the signals.
func (w *StatusWatch) Close() { w.close() }

const maxDeadLetters = 100

// Status tells what the host's sessions do, by id.
func (h *Host) Status(ctx context.Context) (*HostStatus, error) {
	letters, err := h.opts.Journal.DeadLetters(ctx, maxDeadLetters)
	if err != nil {
		return nil, err
	}
	out := &HostStatus{
		StartedAt: h.started, Sessions: []SessionStatus{},
		DeadLetters: append([]DeadLetter{}, letters...),
		Notices:     append([]string{}, h.opts.Journal.Notices()...),
	}
	if h.opts.Policy != nil {
		out.Notices = append(out.Notices, h.opts.Policy.Notices()...)
	}
	for _, s := range h.all() {
		one := s.status()
		if one.OpenTurn != "" {
			out.OpenTurns++
		}
		out.Unacknowledged += one.Unacknowledged
		out.Sessions = append(out.Sessions, one)
	}
	out.Workspaces = h.workspaces()
	out.DiskBytes = h.diskUse(ctx)
	slices.SortFunc(out.Sessions, func(a, b SessionStatus) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// diskUse is nil when nobody counts it, or the counting takes long.
func (h *Host) diskUse(ctx context.Context) *int64 {
	counter, ok := h.opts.Workspaces.(DiskCounter)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	n, err := counter.DiskUse(ctx)
	if err != nil {
		return nil
	}
	return &n
}

func (s *session) status() SessionStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := &s.state.Record
	return SessionStatus{
		ID: s.id, Agent: rec.Agent, Project: rec.Project,
		Status: rec.Status, Reason: rec.Reason,
		OpenTurn: s.state.OpenTurn(), OpenInteractions: len(s.state.Questions),
		Cursor: rec.Cursor, Acknowledged: rec.Acked, Unacknowledged: s.state.Pending,
		Outbox: rec.Outbox, OutboxError: rec.OutboxError, LastActivityAt: rec.ActiveAt,
	}
}

// WatchStatus subscribes to changes of Status.
func (h *Host) WatchStatus() *StatusWatch {
	c := make(chan struct{}, 1)
	c <- struct{}{}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers[c] = struct{}{}
	return &StatusWatch{C: c, close: func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers, c)
	}}
}

// changed signals the watchers.
func (h *Host) changed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.watchers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
