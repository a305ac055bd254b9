package agenthost

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"bellhop/agenthost/activity"
	"bellhop/agenthost/core"
	"bellhop/internal/process"
	"bellhop/policy"
	"bellhop/protocol"
)

// HostStatus is what GET /status shows.
type HostStatus struct {
	StartedAt      time.Time         `json:"startedAt"`
	OpenTurns      int               `json:"openTurns"`
	Unacknowledged int64             `json:"unacknowledged"` // events the brokers do not have yet
	Sessions       []SessionStatus   `json:"sessions"`
	Workspaces     []WorkspaceStatus `json:"workspaces"`
	DiskBytes      *int64            `json:"diskBytes,omitempty"` // of workspaces, clones and state; absent: not known
	DeadLetters    []DeadLetter      `json:"deadLetters"`
	Sandbox        any               `json:"sandbox,omitempty"` // what agents are kept from; absent without a sandbox
	Notices        []string          `json:"notices"`           // a journal set aside, a wrong policy, a leaky sandbox, another copy of the host
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

// StatusWatch signals on C at once and after every change; Status returns the new
// status. Signals that are not yet received become one.
type StatusWatch struct {
	C     <-chan struct{}
	close func()
}

// Close ends the signals.
func (w *StatusWatch) Close() { w.close() }

const maxDeadLetters = 100

// Status returns what the host's sessions do, by id.
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
	if h.opts.Sandbox != nil {
		out.Sandbox = h.opts.Sandbox.Status()
		out.Notices = append(out.Notices, h.opts.Sandbox.Notices()...)
	}
	out.Notices = append(out.Notices, h.copiesOfBrokers()...)
	for _, s := range h.all() {
		one, copies := s.status()
		if copies != "" && !slices.Contains(out.Notices, copies) {
			out.Notices = append(out.Notices, copies)
		}
		if one.OpenTurn != "" {
			out.OpenTurns++
		}
		out.Unacknowledged += one.Unacknowledged
		out.Sessions = append(out.Sessions, one)
	}
	out.Workspaces = h.workspaces()
	out.DiskBytes = h.opts.diskUse(ctx)
	slices.SortFunc(out.Sessions, func(a, b SessionStatus) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// OldestPending returns when the oldest event was made that its broker has not acknowledged, or the
// zero time if there is none.
func (h *Host) OldestPending(ctx context.Context) (oldest time.Time, err error) {
	for _, s := range h.all() {
		s.mu.Lock()
		pending, acked := s.state.Undelivered(), s.state.Record.Acked
		s.mu.Unlock()
		if !pending {
			continue
		}
		rows, err := h.opts.Journal.Pending(ctx, s.id, acked, 1)
		if err != nil {
			return oldest, err
		}
		if at := madeAt(rows); !at.IsZero() && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
	}
	return oldest, nil
}

// madeAt returns when the first of events was made, or the zero time.
func madeAt(events []EventRecord) time.Time {
	if len(events) == 0 {
		return time.Time{}
	}
	e, err := events[0].Event()
	if err != nil {
		return time.Time{}
	}
	ms, err := strconv.ParseInt(string(e.Timestamp), 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// diskUse returns nil when the workspaces are not counted, or the counting takes long.
func (o *Options) diskUse(ctx context.Context) *int64 {
	counter, ok := o.Workspaces.(DiskCounter)
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

// status returns what the session does, and what its broker says of another copy of the host.
func (s *session) status() (status SessionStatus, copies string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := &s.state.Record
	return SessionStatus{
		ID: s.id, Agent: rec.Agent, Project: rec.Project,
		Status: rec.Status, Reason: rec.Reason,
		OpenTurn: s.state.OpenTurn(), OpenInteractions: len(s.state.Questions),
		Cursor: rec.Cursor, Acknowledged: rec.Acked, Unacknowledged: s.state.Pending,
		Outbox: s.state.Outbox(), OutboxError: rec.OutboxError, LastActivityAt: rec.ActiveAt,
	}, s.state.Delivery.Copies
}

// Programs is what a Host knows of the programs in its workspaces, and what it lets
// them do.
type Programs struct {
	h        *Host
	activity *activity.Tracker
}

// LocalGrant is what the bearer of a workspace's secret may do: it acts for the
// session, in the workspace at Path.
type LocalGrant struct {
	SessionID string
	Project   string
	Path      string
	Owner     string // hash of the key of the session's user; "" if the broker sent none
}

// HookReport is what a program in a workspace reports about itself. Without a Status
// it only shows that the program exists; StatusNone means that it has ended.
type HookReport struct {
	Program string // its own session id; "" when it reports none
	Status  protocol.Status
	Reason  string
	Turn    TurnReport
}

// MarkActive notes a request from the workspace: the first one turns none into
// idle.
func (p *Programs) MarkActive(g LocalGrant) { p.activity.Mark(g.Path) }

// Hook takes what a program reports. Of the program that works on the session's
// open turn the host knows more, and takes no report that it works or waits.
func (p *Programs) Hook(g LocalGrant, r HookReport) {
	p.MarkActive(g)
	program := core.Name(r.Program, activity.Unnamed)
	p.h.collect(g, program, &r)
	busy := r.Status == protocol.StatusBusy || r.Reason != ""
	switch {
	case r.Status == "":
		p.activity.Alive(g.Path, program)
	case busy && p.drives(g.SessionID, r.Program):
	default:
		p.activity.Report(g.Path, program, core.Activity{Status: r.Status, Reason: r.Reason})
	}
}

// reporter returns the function by which a session's agent reports what its terminal clients do.
// It is tracked as a program. The space in its name distinguishes it from programs that report by hooks.
func (p *Programs) reporter(path, sessionID string) func(protocol.Status, protocol.StatusReason) {
	return func(status protocol.Status, reason protocol.StatusReason) {
		p.activity.Report(path, " agent of "+sessionID, core.Activity{Status: status, Reason: reason})
	}
}

// Decide returns what the policy decides about a call of a program in a person's
// terminal. ok is false if there are no rules, or no session.
func (p *Programs) Decide(g LocalGrant, tool string, input json.RawMessage) (d policy.Decision, ok bool) {
	s, err := p.h.session(g.SessionID)
	if err != nil || p.h.opts.Policy == nil {
		return d, false
	}
	s.mu.Lock()
	call := s.state.TerminalCall(g.Path, tool, input)
	s.mu.Unlock()
	return p.h.opts.Policy.Decide(call), true
}

// drives reports whether the program is the one that has the session's open turn.
func (p *Programs) drives(sessionID, program string) bool {
	s, err := p.h.session(sessionID)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Turn != nil && program != "" && s.state.Record.AgentSessionID == program
}

// activityChanged is called when what the programs of a workspace do has changed. It updates the
// status of the workspace's sessions.
func (p *Programs) activityChanged(path string) {
	p.h.changed()
	p.h.spawn(func() {
		for _, s := range p.h.all() {
			s.showOthers(path)
		}
	})
}

// WorkspaceGone forgets a workspace that was deleted.
func (p *Programs) WorkspaceGone(path string) {
	p.activity.Forget(path)
	p.h.changed()
}

// WorkspaceStatus is one workspace of a HostStatus: what its sessions and the
// programs that people run there do together.
type WorkspaceStatus struct {
	Path     string          `json:"path"`
	Status   protocol.Status `json:"status"`
	Reason   string          `json:"reason"`
	Sessions []string        `json:"sessions"`

	*WorkspaceDescription
}

// WorkspaceDescription is what a workspace holds.
type WorkspaceDescription struct {
	Branch   string            `json:"branch"` // "" without git
	Dirty    bool              `json:"dirty"`
	Metadata map[string]string `json:"metadata"` // of the session's agents
}

// Workspace returns the activity in a workspace.
func (p *Programs) Workspace(path string) WorkspaceStatus {
	all := p.workspaces()
	if i := slices.IndexFunc(all, func(w WorkspaceStatus) bool { return w.Path == path }); i >= 0 {
		return all[i]
	}
	return WorkspaceStatus{Path: path, Status: protocol.StatusNone, Sessions: []string{}}
}

// workspaces returns the workspaces that sessions or programs have used, sorted by path.
func (p *Programs) workspaces() []WorkspaceStatus {
	sessions := map[string][]string{}
	busy := map[string]core.Activity{}
	for _, path := range p.activity.Paths() {
		sessions[path], busy[path] = []string{}, p.activity.Now(path)
	}
	for _, s := range p.h.all() {
		s.mu.Lock()
		path, own := s.state.Record.Dir, core.Activity{Status: s.state.Record.Status, Reason: s.state.Record.Reason}
		s.mu.Unlock()
		if path == "" {
			continue
		}
		if own.Reason == protocol.ReasonTerminal { // that is the workspace's, not the session's
			own.Reason = ""
		}
		if _, known := busy[path]; !known {
			busy[path] = core.Activity{Status: protocol.StatusNone}
		}
		sessions[path] = append(sessions[path], s.id)
		busy[path] = activity.Busier(busy[path], own)
	}
	out := make([]WorkspaceStatus, 0, len(sessions))
	for path, ids := range sessions {
		slices.Sort(ids)
		out = append(out, WorkspaceStatus{Path: path, Status: busy[path].Status, Reason: busy[path].Reason, Sessions: ids})
	}
	slices.SortFunc(out, func(a, b WorkspaceStatus) int {
		if a.Path < b.Path {
			return -1
		}
		return 1
	})
	return out
}

// LocalGrant returns the grant of a workspace's secret. CodeUnauthorized: no session
// has it.
func (p *Programs) LocalGrant(secret string) (LocalGrant, error) {
	presented := sha256.Sum256([]byte(secret))
	var found *session
	for _, s := range p.h.all() { // every session is compared: the time taken reveals nothing
		if hash := s.secretHash.Load(); hash != nil && subtle.ConstantTimeCompare(hash[:], presented[:]) == 1 {
			found = s
		}
	}
	if found == nil {
		return LocalGrant{}, &protocol.Error{
			Code: protocol.CodeUnauthorized, Message: "Unauthorized",
			Hint: "Send Authorization: Bearer and the workspace's secret, BELLHOP_WORKSPACE_SECRET in its agent's environment",
		}
	}
	found.mu.Lock()
	defer found.mu.Unlock()
	rec := &found.state.Record
	return LocalGrant{SessionID: found.id, Project: rec.Project, Path: rec.Dir, Owner: rec.OwnerKeyHash}, nil
}

// Occupied reports whether a session works in the workspace.
func (p *Programs) Occupied(path string) bool {
	return slices.ContainsFunc(p.h.all(), func(s *session) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.state.Record.Dir == path
	})
}

// LocalPath returns the workspace of the grant's own session.
func (p *Programs) LocalPath(g LocalGrant) (string, error) {
	s, err := p.h.session(g.SessionID)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Record.Dir, nil
}

// Home is the state directory of a workspace's session: the HOME of programs that
// run for it.
func (p *Programs) Home(ctx context.Context, g LocalGrant) (string, error) {
	_, home, err := p.h.opts.Workspaces.Dir(ctx, g.SessionID, g.Project)
	return home, err
}

// Confine changes a command so that it runs confined to a workspace of the grant.
func (p *Programs) Confine(g LocalGrant, home string, c process.Command) (process.Command, error) {
	confine := p.h.opts.confine(Confined{Session: g.SessionID, Project: g.Project, Dir: g.Path, StateDir: home})
	if confine == nil {
		return c, nil
	}
	return confine(c)
}

// showOthers shows the broker of an idle session what other programs do in its
// workspace.
func (s *session) showOthers(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Record.Dir != path || s.state.Deleted {
		return
	}
	if _, err := s.apply(core.HookReported{Dir: path, Others: s.host.activity.Now(path)}); err != nil {
		s.host.opts.Log.Error("a workspace's status could not be written", "session", s.id, "error", err)
	}
}
