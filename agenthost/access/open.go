package access

import (
	"cmp"
	"context"

	"bellhop/protocol"
)

// Use has the session of a request work in the workspace that the request names, and adds the workspace's
// project to the request. exists reports whether the host has a session. CodeInvalid: sessions of this host
// name no workspaces, or the workspace is of another project. Other errors are those of NamedWorkspaces.Use.
func Use(
	ctx context.Context, workspaces Workspaces, req *protocol.OpenSessionRequest, ownerHash string,
	exists func(sessionID string) bool,
) error {
	if req.Workspace == "" {
		return nil
	}
	named, ok := workspaces.(NamedWorkspaces)
	if !ok {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "This host has no workspaces that sessions can name",
			Hint: "The capabilities in its answer to POST /session say what it can do",
		}
	}
	project, err := named.Use(ctx, req.SessionID, req.Workspace, ownerHash, exists)
	if err != nil {
		return err
	}
	if req.Project != "" && req.Project != project {
		return protocol.Errorf(protocol.CodeInvalid, "The workspace %q is not of the project %q", req.Workspace, req.Project)
	}
	req.Project = project
	return nil
}

// CheckBranch checks the branch of a request. CodeInvalid: it is no name of a branch, or the request names a
// workspace too.
func CheckBranch(req *protocol.OpenSessionRequest) error {
	switch {
	case req.Branch == "":
		return nil
	case req.Workspace != "":
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "branch and workspace exclude each other",
			Hint: "A workspace that was created by name has a branch already",
		}
	}
	return protocol.CheckBranch(req.Branch)
}

// Make makes the workspace of a new session, and of a session that gets another project. exists reports whether
// the host has the session already, with this project. A request that names a branch is checked against the
// branch that the session began from.
func Make(
	ctx context.Context, workspaces Workspaces, req *protocol.OpenSessionRequest, project string, exists bool,
) error {
	if req.Branch != "" {
		branched, ok := workspaces.(BranchedWorkspaces)
		if !ok {
			return &protocol.Error{
				Code: protocol.CodeInvalid, Message: "Sessions of this host start from no branch",
				Hint: "The capabilities in its answer to POST /session say what it can do",
			}
		}
		_, _, err := branched.DirFrom(ctx, req.SessionID, cmp.Or(req.Project, project), req.Branch)
		return err
	}
	if exists && (req.Project == "" || req.Project == project) {
		return nil
	}
	_, _, err := workspaces.Dir(ctx, req.SessionID, req.Project)
	return err
}
