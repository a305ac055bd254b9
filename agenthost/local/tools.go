package local

import (
	"context"
	"errors"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/agenthost"
	"bellhop/internal/lazyregexp"
	"bellhop/internal/mcpserver"
	"bellhop/protocol"
)

// Limits on a workspace's metadata.
const (
	maxKeys  = 60      // a workspace has at most 64; four are for the host
	maxValue = 4 << 10 // bytes
)

const toolExecuteCommand = "workspace_executeCommand"

var keyForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

type pathInput struct {
	Path string `json:"path,omitempty" jsonschema:"absolute path of a workspace that you made with workspace_create; leave it out for your own"`
}

type statusOutput struct {
	Path    string      `json:"path"`
	Project string      `json:"project"`
	Branch  string      `json:"branch"`
	Dirty   bool        `json:"dirty"`
	Agent   agentOutput `json:"agent"`
}

type agentOutput struct {
	Status protocol.Status `json:"status"`
	Reason string          `json:"reason"`
}

type metadataOutput struct {
	Metadata map[string]string `json:"metadata"`
}

type setInput struct {
	pathInput
	Key   string  `json:"key" jsonschema:"1 to 64 of A-Z a-z 0-9 . _ - and no dash or dot in front; what begins with bellhop. is not yours"`
	Value *string `json:"value,omitempty" jsonschema:"at most 4096 bytes; leave it out to delete the key"`
}

type createInput struct {
	Name string `json:"name" jsonschema:"of the workspace and its branch"`
}

type createOutput struct {
	Path   string `json:"path"`
	Branch string `json:"branch"`
}

type deleteInput struct {
	Path  string `json:"path" jsonschema:"absolute path, from workspace_create"`
	Force bool   `json:"force,omitempty" jsonschema:"true throws away uncommitted and unpushed work"`
}

type deleteOutput struct {
	Deleted bool `json:"deleted"`
}

func newFalse() *bool { return new(bool) }

// addTools registers the tools. Names contain "_" instead of the dot in the titles,
// because some clients do not allow dots.
func (s *Server) addTools(server *mcpserver.Server) {
	mcpserver.Add(server, &sdk.Tool{
		Name: "workspace_getStatus", Title: "workspace.getStatus",
		Description: "Describes a workspace: its branch, whether it has uncommitted changes (dirty), " +
			"and what its agents do (none, idle or busy).",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: newFalse()},
	}, s.getStatus)
	mcpserver.Add(server, &sdk.Tool{
		Name: "workspace_getMetadata", Title: "workspace.getMetadata",
		Description: "Returns the notes kept with a workspace, as keys and values.",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: newFalse()},
	}, s.getMetadata)
	mcpserver.Add(server, &sdk.Tool{
		Name: "workspace_setMetadata", Title: "workspace.setMetadata",
		Description: "Sets one note of a workspace, or deletes it when value is left out. Notes outlive the conversation. " +
			"Returns all notes.",
		Annotations: &sdk.ToolAnnotations{IdempotentHint: true, OpenWorldHint: newFalse()},
	}, s.setMetadata)
	mcpserver.Add(server, &sdk.Tool{
		Name: "workspace_create", Title: "workspace.create",
		Description: "Makes another workspace of this project: a directory of its own, on its own branch. " +
			"The user can start a task in it by its name.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: newFalse(), OpenWorldHint: newFalse()},
	}, s.create)
	mcpserver.Add(server, &sdk.Tool{
		Name: "workspace_delete", Title: "workspace.delete",
		Description: "Deletes a workspace that you made with workspace_create. " +
			"It is refused if anything exists only there, unless force is true: changes, ignored files, commits, repositories inside. " +
			"Workspaces in which a session works cannot be deleted, your own among them.",
		Annotations: &sdk.ToolAnnotations{OpenWorldHint: newFalse()},
	}, s.deleteWorkspace)
	mcpserver.Add(server, &sdk.Tool{
		Name: toolExecuteCommand, Title: "workspace.executeCommand",
		Description: "Runs a command that the operator has named for this project, in the workspace, " +
			"and returns its exit status and the end of its output.",
	}, s.executeCommand)
}

// grantFor returns the caller's grant with the workspace that a tool's path selects.
func (s *Server) grantFor(ctx context.Context, path string) (agenthost.LocalGrant, error) {
	g := grantOf(ctx)
	if path == "" {
		return g, nil
	}
	sessionPath, err := s.Host.LocalPath(g)
	if err != nil {
		return g, err
	}
	sessionGrant := g
	sessionGrant.Path = sessionPath
	g.Path, err = s.selectPath(ctx, sessionGrant, path)
	return g, err
}

func (s *Server) getStatus(ctx context.Context, in *pathInput) (*statusOutput, error) {
	g, err := s.grantFor(ctx, in.Path)
	if err != nil {
		return nil, err
	}
	info, err := s.Workspaces.Info(ctx, g.Path)
	if err != nil {
		return nil, err
	}
	now := s.Host.Workspace(g.Path)
	return &statusOutput{
		Path: g.Path, Project: info.Project, Branch: info.Branch, Dirty: info.Dirty,
		Agent: agentOutput{Status: now.Status, Reason: now.Reason},
	}, nil
}

func (s *Server) getMetadata(ctx context.Context, in *pathInput) (*metadataOutput, error) {
	g, err := s.grantFor(ctx, in.Path)
	if err != nil {
		return nil, err
	}
	return s.visibleMetadata(ctx, g.Path)
}

func (s *Server) visibleMetadata(ctx context.Context, path string) (*metadataOutput, error) {
	all, err := s.Workspaces.Metadata(ctx, path)
	if err != nil {
		return nil, err
	}
	return &metadataOutput{Metadata: Visible(all)}, nil
}

// Visible returns the metadata of a workspace without the keys of the host.
func Visible(all map[string]string) map[string]string {
	visible := make(map[string]string, len(all))
	for key, value := range all {
		if !strings.HasPrefix(key, reservedPrefix) {
			visible[key] = value
		}
	}
	return visible
}

func (s *Server) setMetadata(ctx context.Context, in *setInput) (*metadataOutput, error) {
	g, err := s.grantFor(ctx, in.Path)
	if err != nil {
		return nil, err
	}
	switch {
	case !keyForm.MatchString(in.Key) || strings.HasPrefix(in.Key, reservedPrefix):
		return nil, protocol.Errorf(protocol.CodeInvalid,
			"The key must be 1 to 64 of A-Z a-z 0-9 . _ -, begin with a letter or digit and not with %s", reservedPrefix)
	case in.Value != nil && len(*in.Value) > maxValue:
		return nil, protocol.Errorf(protocol.CodeTooLarge, "A value may have %d bytes", maxValue)
	}
	current, err := s.visibleMetadata(ctx, g.Path)
	if err != nil {
		return nil, err
	}
	if _, known := current.Metadata[in.Key]; in.Value != nil && !known && len(current.Metadata) >= maxKeys {
		return nil, &protocol.Error{
			Code: protocol.CodeTooLarge, Message: "The workspace has as many keys as it may", Hint: "Delete one",
		}
	}
	if err := s.Workspaces.SetMetadata(ctx, g.Path, in.Key, in.Value); err != nil {
		return nil, err
	}
	return s.visibleMetadata(ctx, g.Path)
}

// create creates a workspace and records its session. The programs of this session, and of the one
// session that its user starts in the workspace, may use it.
func (s *Server) create(ctx context.Context, in *createInput) (*createOutput, error) {
	g := grantOf(ctx)
	info, err := s.Workspaces.Create(ctx, g.Project, in.Name, g.Owner)
	if err != nil {
		return nil, err
	}
	if err := s.Workspaces.SetMetadata(ctx, info.Path, creatorKey, &g.SessionID); err != nil {
		// Without the record, no session could use or delete it.
		return nil, errors.Join(err, s.Workspaces.Delete(context.WithoutCancel(ctx), info.Path, false))
	}
	return &createOutput{Path: info.Path, Branch: info.Branch}, nil
}

func (s *Server) deleteWorkspace(ctx context.Context, in *deleteInput) (*deleteOutput, error) {
	if in.Path == "" {
		return nil, protocol.Errorf(protocol.CodeInvalid, "path is required")
	}
	g, err := s.grantFor(ctx, in.Path)
	if err != nil {
		return nil, err
	}
	info, err := s.Workspaces.Info(ctx, g.Path)
	if err != nil {
		return nil, err
	}
	if s.Host.Occupied(g.Path) || info.UsedBy != "" {
		return nil, &protocol.Error{
			Code: protocol.CodeConflict, Message: "A session works in this workspace",
			Hint: "Its user deletes it with the session",
		}
	}
	if err := s.Workspaces.Delete(ctx, g.Path, in.Force); err != nil {
		return nil, err
	}
	s.Host.WorkspaceGone(g.Path)
	return &deleteOutput{Deleted: true}, nil
}
