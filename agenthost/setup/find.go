package setup

import (
	"context"
	"fmt"
	"path/filepath"

	"bellhop/protocol"
)

// Source says where a program was found.
type Source string

// Sources, best first.
const (
	SourceConfigured Source = "configured" // the host's configuration names its path
	SourceInstalled  Source = "installed"  // bellhop agents install
	SourcePath       Source = "path"       // on the PATH
)

// Program is an agent program that can be started.
type Program struct {
	Command []string // Node.js first, where the program needs it
	Version string   // what it says itself; of an installed one the pinned
	Source  Source
}

// Path is the program itself.
func (p Program) Path() string { return p.Command[len(p.Command)-1] }

// Want narrows what Find may find.
type Want struct {
	Path    string // this program and no other
	Version string // "" = the pinned one; "any" = whatever it is
}

// AnyVersion as Want.Version takes every version.
const AnyVersion = "any"

// Find returns the program of an agent: the configured one, else the installed
// one, else one on the PATH whose version fits. It asks programs for their
// version and uses no network. CodeNotFound: unknown; CodeUnavailable: not
// installed; CodeInvalid: only with another version, or without the Node.js it
// needs. All name the command that mends it.
func (c *Cache) Find(ctx context.Context, name string, want Want) (Program, error) {
	agent, err := c.Agent(name)
	if err != nil {
		return Program{}, err
	}
	if want.Path != "" {
		return c.outside(ctx, agent, want.Path, want.Version, SourceConfigured)
	}
	pinned := want.Version == "" || want.Version == agent.Version || want.Version == AnyVersion
	if pinned {
		program, err := c.installed(agent)
		if err != nil {
			return Program{}, err
		}
		if program != "" {
			command, err := c.command(ctx, agent, program)
			return Program{Command: command, Version: agent.Version, Source: SourceInstalled}, err
		}
	}
	if agent.Program == "" {
		return Program{}, c.missing(agent)
	}
	path, err := c.lookPath(agent.Program)
	if err != nil && !pinned {
		return Program{}, &protocol.Error{
			Code: protocol.CodeUnavailable, Message: fmt.Sprintf("%s %s is not on the PATH", agent.Title, want.Version),
			Hint: fmt.Sprintf("Put it there, or leave 'version' out of its entry: %s is what is tested.", agent.Version),
		}
	}
	if err != nil {
		return Program{}, c.missing(agent)
	}
	if path, err = filepath.Abs(path); err != nil {
		return Program{}, err
	}
	return c.outside(ctx, agent, path, want.Version, SourcePath)
}

// outside checks a program that is not ours.
func (c *Cache) outside(ctx context.Context, a Agent, path, wanted string, source Source) (Program, error) {
	if wanted == "" {
		wanted = a.Version
	}
	// A script on the PATH names its own interpreter.
	command := []string{path}
	got, err := c.version(ctx, command)
	if err != nil {
		return Program{}, &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("%s at %s does not say its version", a.Title, path), Err: err,
			Hint: "Install the tested one: bellhop agents install " + a.Name,
		}
	}
	if !fits(got, wanted) {
		return Program{}, &protocol.Error{
			Code:    protocol.CodeInvalid,
			Message: fmt.Sprintf("%s at %s is version %s, wanted is %s", a.Title, path, got, wanted),
			Hint:    fmt.Sprintf("Install the tested one: bellhop agents install %s (or accept this one: version: %q in its entry of the host's configuration)", a.Name, got),
		}
	}
	return Program{Command: command, Version: got, Source: source}, nil
}

func (c *Cache) missing(a Agent) error {
	err := &protocol.Error{
		Code: protocol.CodeUnavailable, Message: fmt.Sprintf("%s is not installed", a.Title),
		Hint: "Install it: bellhop agents install " + a.Name,
	}
	if !c.offered(a) {
		err.Hint = byHand(a)
	}
	return err
}

// offered tells whether an install is possible on this platform.
func (c *Cache) offered(a Agent) bool {
	_, ok := a.artifact(c.platform)
	return ok || a.Locked != ""
}

func byHand(a Agent) string {
	return fmt.Sprintf("Install it by hand, so that %s is on the PATH: npm install --global %s@%s", a.Program, a.Package, a.Version)
}

// command puts Node.js before a script that needs it.
func (c *Cache) command(ctx context.Context, a Agent, program string) ([]string, error) {
	if a.Node == 0 {
		return []string{program}, nil
	}
	node, err := c.node(ctx, a)
	if err != nil {
		return nil, err
	}
	return []string{node, program}, nil
}

// Check is Find of a program that is also started once, to see that it runs.
func (c *Cache) Check(ctx context.Context, name string) (Program, error) {
	program, err := c.Find(ctx, name, Want{})
	if err != nil || program.Source != SourceInstalled {
		return program, err
	}
	agent, err := c.Agent(name)
	if err != nil {
		return program, err
	}
	got, err := c.selfVersion(ctx, agent, c.folder(agent))
	if err == nil && got != agent.Version {
		err = fmt.Errorf("it says it is version %s", got)
	}
	if err != nil {
		return program, &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("the installed %s does not run", agent.Title), Err: err,
			Hint: fmt.Sprintf("Remove %s, then: bellhop agents install %s", c.folder(agent), name),
		}
	}
	return program, nil
}
