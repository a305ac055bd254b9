package agenthost

import (
	"slices"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// HookReport is what a program in a workspace tells of itself. Without a Status it
// only shows that the program is there; StatusNone says that it has ended.
type HookReport struct {
	Program string // its own session id; "" when it does not say
	Status  protocol.Status
	Reason  string
}

// unnamed is a program that does not say which it is.
const unnamed = "?"

// MarkActive notes a request from the workspace: the first one turns none into
// idle.
func (h *Host) MarkActive(g LocalGrant) { h.activity.mark(g.Path) }

// Hook takes what a program reports. Of the program that works on the session's
// open turn the host knows more, and takes no report that it works or waits.
func (h *Host) Hook(g LocalGrant, r HookReport) {
	h.MarkActive(g)
	program := core.Name(r.Program, unnamed)
	busy := r.Status == protocol.StatusBusy || r.Reason != ""
	switch {
	case r.Status == "":
		h.activity.alive(g.Path, program)
	case busy && h.drives(g.SessionID, r.Program):
	default:
		h.activity.report(g.Path, program, doing{Status: r.Status, Reason: r.Reason})
	}
}

// drives reports whether the program is the one that has the session's open turn.
func (h *Host) drives(sessionID, program string) bool {
	s, err := h.session(sessionID)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Turn != nil && program != "" && s.state.Record.Native == program
}

// worked passes a change on to the sessions of a workspace.
func (h *Host) worked(path string) {
	h.changed()
	h.spawn(func() {
		for _, s := range h.all() {
			s.showOthers(path)
		}
	})
}

// showOthers shows the broker of an idle session what other programs do in its
// workspace.
func (s *session) showOthers(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Record.Dir != path || s.state.Deleted {
		return
	}
	if _, err := s.apply(core.HookReported{Dir: path, Others: s.host.activity.now(path)}); err != nil {
		s.host.opts.Log.Error("a workspace's status could not be written", "session", s.id, "error", err)
	}
}

// WorkspaceGone forgets a workspace that was deleted.
func (h *Host) WorkspaceGone(path string) {
	h.activity.forget(path)
	h.changed()
}

// WorkspaceStatus is one workspace of a HostStatus: what its sessions and the
// programs that people run there do together.
type WorkspaceStatus struct {
	Path     string          `json:"path"`
	Status   protocol.Status `json:"status"`
	Reason   string          `json:"reason"`
	Sessions []string        `json:"sessions"`
}

// Workspace tells what is done in a workspace.
func (h *Host) Workspace(path string) WorkspaceStatus {
	all := h.workspaces()
	if i := slices.IndexFunc(all, func(w WorkspaceStatus) bool { return w.Path == path }); i >= 0 {
		return all[i]
	}
	return WorkspaceStatus{Path: path, Status: protocol.StatusNone, Sessions: []string{}}
}

// workspaces are those of which anything is known, by path.
func (h *Host) workspaces() []WorkspaceStatus {
	sessions := map[string][]string{}
	busy := map[string]doing{}
	for _, path := range h.activity.paths() {
		sessions[path], busy[path] = []string{}, h.activity.now(path)
	}
	for _, s := range h.all() {
		s.mu.Lock()
		path, own := s.state.Record.Dir, doing{Status: s.state.Record.Status, Reason: s.state.Record.Reason}
		s.mu.Unlock()
		if path == "" {
			continue
		}
		if own.Reason == protocol.ReasonTerminal { // that is the workspace's, not the session's
			own.Reason = ""
		}
		if _, known := busy[path]; !known {
			busy[path] = doing{Status: protocol.StatusNone}
		}
		sessions[path] = append(sessions[path], s.id)
		busy[path] = busier(busy[path], own)
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
