package protocol

import "time"

// WorkspaceState is what a workspace holds.
type WorkspaceState struct {
	Branch   string            `json:"branch"` // that is checked out; "" without git
	Dirty    bool              `json:"dirty"`  // has uncommitted changes
	Metadata map[string]string `json:"metadata"`
	// Dir is the directory on the host in which the agent works: its tools name files below it.
	Dir string `json:"dir,omitempty"`

	Ships []ShipStep `json:"ships,omitempty"` // what the host does with the session's work
	// Terminal: users can open terminals there. A broker sets it for users who may.
	Terminal bool `json:"terminal,omitempty"`

	Remote *RemoteState `json:"remote,omitempty"` // where the host pushes it; absent if the project has no remote
}

// Workspace is a workspace that an agent created by name. It belongs to the user of the session.
type Workspace struct {
	Name      string            `json:"name"`
	Project   string            `json:"project"` // "" = an own repository, without a project
	Branch    string            `json:"branch"`
	Dirty     bool              `json:"dirty"`
	Unpushed  int               `json:"unpushed"` // commits that no other branch and no remote has
	Metadata  map[string]string `json:"metadata"`
	CreatedAt time.Time         `json:"createdAt"`
	CreatedBy string            `json:"createdBy"`        // session, which may be deleted
	UsedBy    string            `json:"usedBy,omitempty"` // session that works in it; absent for none
}

// WorkspaceList is the response to GET /workspaces of an agent host: the workspaces of the user
// whose key HeaderOwnerKey has.
type WorkspaceList struct {
	Workspaces []Workspace `json:"workspaces"` // the oldest first
}

// SessionWorkspace is the response to GET /session/:id/workspace of an agent host, and to GET
// /api/tasks/:id/workspace of a broker.
type SessionWorkspace struct {
	// Workspace is nil if the session has none yet, or if the host does not describe it.
	Workspace *WorkspaceState `json:"workspace"`
}

// HostWorkspaceList is the response to GET /api/workspaces: the caller's workspaces on every registered host.
type HostWorkspaceList struct {
	Hosts []WorkspaceHost `json:"hosts"` // by name
}

// WorkspaceHost is a registered host with the caller's workspaces there.
type WorkspaceHost struct {
	HostID     string      `json:"hostId"`
	Name       string      `json:"name"`
	Workspaces []Workspace `json:"workspaces"`
	Problem    string      `json:"problem,omitempty"` // why they are not known
}
