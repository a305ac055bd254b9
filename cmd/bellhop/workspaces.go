package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"bellhop/agenthost/workspace"
	"bellhop/internal/app"
	"bellhop/protocol"
)

type workspacesCommand struct {
	List   workspacesListCommand   `cmd:"" help:"Show them: whose they are, and what work they hold."`
	Create workspacesCreateCommand `cmd:"" help:"Make one by name, without a session."`
	Delete workspacesDeleteCommand `cmd:"" help:"Remove one. One with unfinished work only with --force."`
	Prune  workspacesPruneCommand  `cmd:"" help:"Remove those whose session is gone and that hold no work."`
}

// Help is shown by --help.
func (workspacesCommand) Help() string {
	return `A session of a project that is a git repository works in a git worktree on a branch of its own. These commands work on
the data directory of 'bellhop host' or 'bellhop dev', also while it runs:

  bellhop workspaces list --data /var/lib/bellhop --config /etc/bellhop/host.yaml
  bellhop workspaces prune --dry-run --data .bellhop`
}

// workspacesFlags say where they are.
type workspacesFlags struct {
	Data   string `env:"BELLHOP_HOST_DATA" default:"./bellhop-host" placeholder:"DIR" help:"Data directory of a host or a dev (${default})."`
	Config string `env:"BELLHOP_HOST_CONFIG" placeholder:"FILE" help:"The host's configuration: it names the projects."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// with opens the workspaces for f.
func (c workspacesFlags) with(env *environment, f func(*workspace.Manager) error) error {
	workspaces, err := app.OpenWorkspaces(c.Data, c.Config, env.log)
	if err != nil {
		return err
	}
	return errors.Join(f(workspaces), workspaces.Close())
}

func (c workspacesFlags) print(w io.Writer, all []workspace.Info) error {
	if c.JSON {
		return printJSON(w, all)
	}
	rows := make([][]string, 0, len(all))
	for _, info := range all {
		rows = append(rows, []string{
			info.Path, dash(info.Project), owner(info), dash(info.Branch), unfinishedWork(info), byteSize(info.DiskBytes), moment(&info.CreatedAt),
		})
	}
	return table(w, []string{"PATH", "PROJECT", "SESSION", "BRANCH", "WORK", "SIZE", "CREATED"}, rows)
}

func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

func owner(info workspace.Info) string {
	switch {
	case info.Gone:
		return info.Session + " (gone)"
	case info.Shared:
		return info.Session + " (in place)"
	}
	return dash(info.Session)
}

// unfinishedWork is what would be lost.
func unfinishedWork(info workspace.Info) string {
	var what []string
	if info.Dirty {
		what = append(what, "changes")
	}
	if info.Unpushed > 0 {
		what = append(what, strconv.Itoa(info.Unpushed)+" commits")
	}
	return dash(strings.Join(what, ", "))
}

func byteSize(n int64) string {
	const unit = 1024
	if n < unit {
		return strconv.FormatInt(n, 10) + " B"
	}
	value, names := float64(n)/unit, "KMGTP"
	for value >= unit && len(names) > 1 {
		value, names = value/unit, names[1:]
	}
	return strconv.FormatFloat(value, 'f', 1, 64) + " " + names[:1] + "iB"
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

type workspacesListCommand struct {
	workspacesFlags `embed:""`
}

// Run prints them, the oldest first.
func (c workspacesListCommand) Run(env *environment) error {
	return c.with(env, func(m *workspace.Manager) error {
		all, err := m.List(env.ctx)
		if err != nil {
			return err
		}
		return c.print(env.stdout, all)
	})
}

type workspacesCreateCommand struct {
	workspacesFlags `embed:""`

	Name    string `arg:"" help:"Its name: A-Z a-z 0-9 . _ -"`
	Project string `placeholder:"NAME" help:"Make it a worktree of this project. Without, it is an empty repository."`
}

// Run prints where it is.
func (c workspacesCreateCommand) Run(env *environment) error {
	return c.with(env, func(m *workspace.Manager) error {
		info, err := m.Create(env.ctx, c.Project, c.Name)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(env.stdout, info)
		}
		_, err = fmt.Fprintln(env.stdout, info.Path)
		return err
	})
}

type workspacesDeleteCommand struct {
	workspacesFlags `embed:""`

	Workspace string `arg:"" help:"Its path, its session's id, or its name."`
	Force     bool   `help:"Lose changes that are not committed, and commits that are nowhere else."`
}

// Run removes it, and says so.
func (c workspacesDeleteCommand) Run(env *environment) error {
	return c.with(env, func(m *workspace.Manager) error {
		path, err := c.path(env, m)
		if err != nil {
			return err
		}
		if err := m.Delete(env.ctx, path, c.Force); err != nil {
			return err
		}
		if c.JSON {
			return printJSON(env.stdout, struct {
				Deleted string `json:"deleted"`
			}{path})
		}
		_, err = fmt.Fprintln(env.stdout, "deleted", path)
		return err
	})
}

// path is the workspace that the argument names. Nothing but a workspace is
// found, so an argument is free to look like anything.
func (c workspacesDeleteCommand) path(env *environment, m *workspace.Manager) (string, error) {
	absolute, err := filepath.Abs(c.Workspace)
	if err != nil {
		return "", err
	}
	all, err := m.List(env.ctx)
	if err != nil {
		return "", err
	}
	var found []string
	for _, info := range all {
		base := filepath.Base(info.Path)
		if info.Path == absolute || info.Path == c.Workspace {
			return info.Path, nil
		}
		if info.Session != "" && info.Session == c.Workspace || base == "@"+c.Workspace || base == c.Workspace {
			found = append(found, info.Path)
		}
	}
	switch len(found) {
	case 0:
		return absolute, nil
	case 1:
		return found[0], nil
	}
	return "", &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("%s names several workspaces", c.Workspace),
		Hint: "Name one by its path: " + strings.Join(found, ", "),
	}
}

type workspacesPruneCommand struct {
	workspacesFlags `embed:""`

	DryRun bool `help:"Only show what would be removed."`
}

// Run prints what it removed.
func (c workspacesPruneCommand) Run(env *environment) error {
	return c.with(env, func(m *workspace.Manager) error {
		pruned, err := m.Prune(env.ctx, c.DryRun)
		if err != nil {
			return err
		}
		return c.print(env.stdout, pruned)
	})
}
