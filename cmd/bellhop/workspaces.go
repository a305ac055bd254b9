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
	List   workspacesListCommand   `cmd:"" help:"List the workspaces with their sessions, and with what exists only there."`
	Create workspacesCreateCommand `cmd:"" help:"Create a workspace by name, without a session."`
	Delete workspacesDeleteCommand `cmd:"" help:"Remove a workspace. It needs --force if something exists only there."`
	Stop   workspacesStopCommand   `cmd:"" help:"Stop the agents of a project on a running host."`
	Prune  workspacesPruneCommand  `cmd:"" help:"Remove workspaces whose session was deleted, unless something exists only there."`
}

// Help is shown by --help.
func (workspacesCommand) Help() string {
	return `If a project is a git repository, each of its sessions works in a clone on a separate branch. These commands
use the data directory of 'bellhop host' or 'bellhop dev', also while it runs:

  bellhop workspaces list --data /var/lib/bellhop --config /etc/bellhop/host.yaml
  bellhop workspaces prune --dry-run --data .bellhop`
}

// workspacesFlags are the flags of all workspaces commands.
type workspacesFlags struct {
	Data   string `env:"BELLHOP_HOST_DATA" default:"./bellhop-host" placeholder:"DIR" help:"Data directory of 'bellhop host' or 'bellhop dev' (${default})."`
	Config string `env:"BELLHOP_HOST_CONFIG" placeholder:"FILE" help:"Configuration file of the host, which names the projects."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// withManager opens the data directory, calls f and closes it.
func (c workspacesFlags) withManager(env *environment, f func(*workspace.Manager) error) error {
	workspaces, err := app.OpenWorkspaces(c.Data, c.Config, env.log)
	if err != nil {
		return err
	}
	return errors.Join(f(workspaces), workspaces.Close())
}

func (c workspacesFlags) printInfos(w io.Writer, all []workspace.Info) error {
	if c.JSON {
		return printJSON(w, all)
	}
	rows := make([][]string, 0, len(all))
	for _, info := range all {
		rows = append(rows, []string{
			info.Path, orDash(info.Project), owner(info), orDash(info.Branch), onlyHere(info),
			byteSize(info.DiskBytes), formatTime(&info.CreatedAt),
		})
	}
	return table(w, []string{"PATH", "PROJECT", "SESSION", "BRANCH", "ONLY HERE", "SIZE", "CREATED"}, rows)
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
	return orDash(info.Session)
}

// onlyHere describes what deleting the workspace would lose.
func onlyHere(info workspace.Info) string {
	if !info.OnlyHere.Exist() {
		return "-"
	}
	return info.OnlyHere.Summary(true)
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

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

type workspacesListCommand struct {
	workspacesFlags `embed:""`
}

// Run prints the workspaces, the oldest first.
func (c workspacesListCommand) Run(env *environment) error {
	return c.withManager(env, func(m *workspace.Manager) error {
		all, err := m.List(env.ctx)
		if err != nil {
			return err
		}
		return c.printInfos(env.stdout, all)
	})
}

type workspacesCreateCommand struct {
	workspacesFlags `embed:""`

	Name    string `arg:"" help:"Name of the workspace: A-Z a-z 0-9 . _ -"`
	Project string `placeholder:"NAME" help:"Create a clone of this project. Without it, create an empty repository."`
}

// Run prints the path of the new workspace.
func (c workspacesCreateCommand) Run(env *environment) error {
	return c.withManager(env, func(m *workspace.Manager) error {
		info, err := m.Create(env.ctx, c.Project, c.Name, "")
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

	Workspace string `arg:"" help:"Path or name of the workspace, or the id of its session."`
	Force     bool   `help:"Delete what exists only there, too: changes, ignored files, commits, repositories inside."`
}

// Run prints "deleted" and the path.
func (c workspacesDeleteCommand) Run(env *environment) error {
	return c.withManager(env, func(m *workspace.Manager) error {
		path, err := c.findPath(m)
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

// findPath returns the path of the workspace that the argument names. It searches
// only the list of workspaces, so the argument needs no check.
func (c workspacesDeleteCommand) findPath(m *workspace.Manager) (string, error) {
	absolute, err := filepath.Abs(c.Workspace)
	if err != nil {
		return "", err
	}
	all, err := m.Recorded()
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

	DryRun bool `help:"Only show the workspaces that would be removed."`
}

// Run prints the removed workspaces, and on stderr those that it keeps with the reason.
func (c workspacesPruneCommand) Run(env *environment) error {
	return c.withManager(env, func(m *workspace.Manager) error {
		pruned, kept, err := m.Prune(env.ctx, c.DryRun)
		if err != nil {
			return err
		}
		for _, info := range kept {
			if _, err := fmt.Fprintf(env.stderr, "kept %s: only there: %s\n", info.Path, info.OnlyHere.Summary(false)); err != nil {
				return err
			}
		}
		return c.printInfos(env.stdout, pruned)
	})
}
