package app

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bellhop/agenthost/workspace"
	"bellhop/internal/yamlfile"
	"bellhop/protocol"
)

// ProjectFile configures one project in the host's configuration file. A string
// is short for an object with only a path.
type ProjectFile struct {
	Path   string `yaml:"path"`   // a directory of this machine; exclusive with clone
	Clone  string `yaml:"clone"`  // URL of a repository
	Branch string `yaml:"branch"` // where new clones start; "" = the project's current HEAD

	// If Worktree is false, sessions share the project's own directory although
	// it is a git repository.
	Worktree *bool               `yaml:"worktree"`
	Commands map[string][]string `yaml:"commands"` // commands that agents may run, by name
}

// projectFields has no UnmarshalYAML, so decoding it does not recurse.
type projectFields ProjectFile

// UnmarshalYAML decodes a string as the path.
func (p *ProjectFile) UnmarshalYAML(node *yamlfile.Node) error {
	if node.Kind == yamlfile.Scalar {
		return yamlfile.Decode(node, &p.Path)
	}
	if node.Kind != yamlfile.Mapping {
		return fmt.Errorf("line %d: a project is a directory, or has path or clone", node.Line)
	}
	for i := 0; i < len(node.Content); i += 2 { // node.Decode ignores the decoder's KnownFields
		switch key := node.Content[i].Value; key {
		case "path", "clone", "branch", "worktree", "commands":
		default:
			return fmt.Errorf("line %d: a project has no %s; it has path, clone, branch, worktree, commands",
				node.Content[i].Line, key)
		}
	}
	return yamlfile.Decode(node, (*projectFields)(p))
}

func (p ProjectFile) check(name string) error {
	switch {
	case (p.Path == "") == (p.Clone == ""):
		return protocol.Errorf(protocol.CodeInvalid, "project %s: name its path, or what to clone", name)
	case strings.HasPrefix(p.Clone, "-") || strings.HasPrefix(p.Branch, "-"):
		return protocol.Errorf(protocol.CodeInvalid, "project %s: an address or a branch does not begin with -", name)
	case p.Clone != "":
		return nil
	}
	if info, err := os.Stat(p.Path); err != nil || !info.IsDir() {
		return protocol.Errorf(protocol.CodeInvalid, "project %s: %s is not a directory", name, p.Path)
	}
	return nil
}

// workspaceProjects converts the projects for package workspace.
func (f HostFile) workspaceProjects() map[string]workspace.Project {
	out := make(map[string]workspace.Project, len(f.Projects))
	for name, p := range f.Projects {
		out[name] = workspace.Project{
			Path: p.Path, Clone: p.Clone, Branch: p.Branch, Commands: p.Commands,
			InPlace: p.Worktree != nil && !*p.Worktree,
		}
	}
	return out
}

// OpenWorkspaces opens the workspaces in the data directory of a host or a dev,
// also while it runs. Without a configuration file, Create accepts no project.
func OpenWorkspaces(data, config string, log *slog.Logger) (*workspace.Manager, error) {
	if _, err := os.Stat(filepath.Join(data, "dev.json")); err == nil {
		data = filepath.Join(data, "host")
	}
	if info, err := os.Stat(data); err != nil || !info.IsDir() {
		return nil, &protocol.Error{
			Code: protocol.CodeNotFound, Message: fmt.Sprintf("%s is not a host's data directory", data),
			Hint: "Set --data to the data directory of 'bellhop host' or 'bellhop dev'.", Err: err,
		}
	}
	file, err := ReadHostFile(config)
	if err != nil {
		return nil, fmt.Errorf("BELLHOP_HOST_CONFIG: %w", err)
	}
	return workspace.New(workspace.Options{Data: data, Projects: file.workspaceProjects(), Patience: time.Hour, Log: log})
}
