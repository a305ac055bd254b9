package setup

import (
	"context"
	"fmt"
	"path/filepath"

	"bellhop/protocol"
)

// Source is the kind of place in which a program was found.
type Source string

// Sources in the order in which Find tries them.
const (
	SourceConfigured Source = "configured" // the host's configuration names its path
	SourceInstalled  Source = "installed"  // in the cache, by 'bellhop agents install'
	SourcePath       Source = "path"       // on PATH
)

// Program is an agent program that can be started.
type Program struct {
	Command []string // begins with Node.js if the program needs it
	Version string   // the pinned version if installed, else the output of --version
	Source  Source
}

// Path returns the path of the program itself, without Node.js.
func (p Program) Path() string { return p.Command[len(p.Command)-1] }

// Want restricts the result of Find.
type Want struct {
	Path    string // use only this program; "" = search
	Version string // "" = the pinned version; AnyVersion = every version
}

// AnyVersion as Want.Version accepts every version.
const AnyVersion = "any"

// Find returns the program of an agent: the configured one, else the installed one,
// else one on PATH with a compatible version. It runs programs with --version and
// uses no network. CodeNotFound: unknown agent. CodeUnavailable: not installed.
// CodeInvalid: another version, or Node.js is missing. Each hint names the remedy.
func (c *Cache) Find(ctx context.Context, name string, want Want) (Program, error) {
	agent, err := c.Agent(name)
	if err != nil {
		return Program{}, err
	}
	if want.Path != "" {
		return c.checkExternal(ctx, agent, want.Path, want.Version, SourceConfigured)
	}
	if want.acceptsPinned(agent) {
		program, err := c.installed(agent)
		if err != nil {
			return Program{}, err
		}
		if program != "" {
			command, err := c.command(ctx, agent, program)
			return Program{Command: command, Version: agent.Version, Source: SourceInstalled}, err
		}
	}
	return c.findOnPath(ctx, agent, want)
}

// Accepts reports whether the program that Install installs is one that is wanted.
func (w Want) Accepts(a Agent) bool { return w.Path == "" && w.acceptsPinned(a) }

func (w Want) acceptsPinned(a Agent) bool {
	return w.Version == "" || w.Version == a.Version || w.Version == AnyVersion
}

func (c *Cache) findOnPath(ctx context.Context, agent Agent, want Want) (Program, error) {
	if agent.Program == "" {
		return Program{}, c.errNotInstalled(agent)
	}
	path, err := c.lookPath(agent.Program)
	switch {
	case err != nil && want.acceptsPinned(agent):
		return Program{}, c.errNotInstalled(agent)
	case err != nil:
		return Program{}, &protocol.Error{
			Code: protocol.CodeUnavailable, Message: fmt.Sprintf("%s %s is not on the PATH", agent.Title, want.Version),
			Hint: fmt.Sprintf("Install it there, or remove 'version' from its entry to use the tested version %s.",
				agent.Version),
		}
	}
	if path, err = filepath.Abs(path); err != nil {
		return Program{}, err
	}
	return c.checkExternal(ctx, agent, path, want.Version, SourcePath)
}

// checkExternal checks the version of a program that is not in the cache.
func (c *Cache) checkExternal(ctx context.Context, a Agent, path, wanted string, source Source) (Program, error) {
	if wanted == "" {
		wanted = a.Version
	}
	// A script on PATH names its interpreter itself, so Node.js is not prepended.
	command := []string{path}
	got, err := c.version(ctx, command)
	if err != nil {
		return Program{}, &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("cannot read the version of %s at %s", a.Title, path), Err: err,
			Hint: "Install the tested one: bellhop agents install " + a.Name,
		}
	}
	if !satisfies(got, wanted) {
		return Program{}, &protocol.Error{
			Code:    protocol.CodeInvalid,
			Message: fmt.Sprintf("%s at %s is version %s, wanted is %s", a.Title, path, got, wanted),
			Hint: fmt.Sprintf("Install the tested one: bellhop agents install %s "+
				"(or accept this one: version: %q in its entry of the host's configuration)", a.Name, got),
		}
	}
	return Program{Command: command, Version: got, Source: source}, nil
}

func (c *Cache) errNotInstalled(a Agent) error {
	err := &protocol.Error{
		Code: protocol.CodeUnavailable, Message: fmt.Sprintf("%s is not installed", a.Title),
		Hint: "Install it: bellhop agents install " + a.Name,
	}
	if !c.isInstallable(a) {
		err.Hint = manualInstallHint(a)
	}
	return err
}

// isInstallable reports whether the program can be installed on this platform.
func (c *Cache) isInstallable(a Agent) bool {
	_, ok := a.Artifact(c.platform)
	return ok || a.Locked != ""
}

func manualInstallHint(a Agent) string {
	return fmt.Sprintf("Install it by hand, so that %s is on the PATH: npm install --global %s@%s",
		a.Program, a.Package, a.Version)
}

// command returns the command line of a program, with Node.js first if it is needed.
func (c *Cache) command(ctx context.Context, a Agent, program string) ([]string, error) {
	if a.Node == 0 {
		return []string{program}, nil
	}
	node, err := c.findNode(ctx, a)
	if err != nil {
		return nil, err
	}
	return []string{node, program}, nil
}

// Check finds a program and starts it once. CodeInvalid: it does not run.
func (c *Cache) Check(ctx context.Context, name string) (Program, error) {
	program, err := c.Find(ctx, name, Want{})
	if err != nil || program.Source != SourceInstalled {
		return program, err
	}
	agent, err := c.Agent(name)
	if err != nil {
		return program, err
	}
	got, err := c.selfVersion(ctx, agent, c.agentDir(agent))
	if err == nil && got != agent.Version {
		err = fmt.Errorf("it reports version %s", got)
	}
	if err != nil {
		return program, &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("the installed %s does not run", agent.Title), Err: err,
			Hint: fmt.Sprintf("Remove %s, then: bellhop agents install %s", c.agentDir(agent), name),
		}
	}
	return program, nil
}
