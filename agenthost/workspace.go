package agenthost

import "context"

// WorkspaceManager is what programs in a workspace may have done with it, and with
// others of their project. Paths are absolute and clean. CodeNotFound: no
// workspace is there; CodeInvalid: a name that cannot be used, an unknown project.
type WorkspaceManager interface {
	Info(ctx context.Context, path string) (WorkspaceInfo, error)
	// Create makes a workspace of a project, or a plain directory for "".
	// CodeConflict: the name is taken.
	Create(ctx context.Context, project, name string) (WorkspaceInfo, error)
	// Delete refuses a project's own directory, and without force uncommitted or
	// unpushed work: CodeConflict.
	Delete(ctx context.Context, path string, force bool) error

	// Metadata is durable. SetMetadata with nil deletes the key.
	Metadata(ctx context.Context, path string) (map[string]string, error)
	SetMetadata(ctx context.Context, path, key string, value *string) error

	// Command is a command line that the operator has named for the project.
	Command(path, name string) ([]string, bool)
}

// WorkspaceInfo describes a workspace.
type WorkspaceInfo struct {
	Path    string
	Project string // "" for a plain directory
	Branch  string // "" without git
	Dirty   bool   // has uncommitted changes
}

// Home is the state directory of a workspace's session: the HOME of programs that
// run for it.
func (h *Host) Home(ctx context.Context, g LocalGrant) (string, error) {
	_, home, err := h.opts.Workspaces.Dir(ctx, g.SessionID, g.Project)
	return home, err
}
