package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/sandbox"
	"bellhop/agenthost/workspace"
	"bellhop/internal/app/agents"
	"bellhop/internal/egress"
	"bellhop/internal/owner"
	"bellhop/internal/process"
)

// probeLimit bounds the measurement of the sandbox at a host's start.
const probeLimit = 30 * time.Second

// openSandbox measures the sandbox, logs what it keeps, and starts the proxy. local is the
// listener for programs in workspaces. The caller closes the result.
func (c HostConfig) openSandbox(workspaces *workspace.Manager, local net.Addr) (*hostSandbox, error) {
	options, err := c.sandboxOptions()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeLimit)
	defer cancel()
	opened, err := sandbox.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	level := opened.Level()
	if level.IsEnough() {
		c.Log.Info("agents run in a sandbox", "sandbox", level.Summary())
	} else {
		c.Log.Warn("agents run without a complete sandbox", "sandbox", level.Summary())
	}
	s := &hostSandbox{
		Sandbox: opened, file: c.File, workspaces: workspaces, data: options.Data, log: c.Log, access: map[string]modelAccess{},
		refused: refusals{all: map[string]*refusal{}, shown: map[string]bool{}},
	}
	if users := opened.Users(); users != nil {
		s.users = &sessionUsers{workspaces: workspaces, users: users}
	}
	if tcp, ok := local.(*net.TCPAddr); ok {
		s.localPort = tcp.Port
	}
	workspaces.SetReader(options.Self, s.confineReader)
	return s, s.openNetwork(c)
}

// sandboxOptions returns the options of package sandbox.
func (c HostConfig) sandboxOptions() (options sandbox.Options, err error) {
	options = c.File.Sandbox.options()
	if c.NoSandbox {
		options.Mode, options.NeedsNetwork, options.NeedsUsers = sandbox.ModeOff, false, false
		options.Limits.Mode = sandbox.LimitOff
	}
	if options.Data, err = filepath.Abs(c.Data); err != nil {
		return options, err
	}
	for _, entry := range c.File.Agents {
		if options.Others, err = appendPath(options.Others, entry.Config); err != nil {
			return options, err
		}
		for _, path := range (&hostSandbox{data: options.Data}).agentPaths(entry).Write { // a login, a HOME
			if options.OthersWrite, err = appendPath(options.OthersWrite, path); err != nil {
				return options, err
			}
		}
	}
	for _, project := range c.File.workspaceProjects() {
		if project.InPlace {
			if options.InPlace, err = appendPath(options.InPlace, project.Path); err != nil {
				return options, err
			}
		}
	}
	for _, paths := range [][]string{options.Others, options.OthersWrite, options.InPlace} {
		slices.Sort(paths)
	}
	cache, err := agents.OpenCache(c.AgentsDir)
	if err != nil {
		return options, err
	}
	options.Programs = cache.Dir()
	options.Self, err = os.Executable()
	return options, err
}

func appendPath(paths []string, path string) ([]string, error) {
	if path == "" {
		return paths, nil
	}
	absolute, err := filepath.Abs(path)
	return append(paths, absolute), err
}

// openNetwork starts the proxy, if some programs have a network of their own.
func (s *hostSandbox) openNetwork(c HostConfig) error {
	if s.NetworkFor(sandbox.NetworkProxy) != sandbox.NetworkProxy {
		return nil
	}
	entries, err := c.agentEntries()
	if err != nil {
		return err
	}
	for name, entry := range entries {
		kind, _ := agents.Find(entry.KindOf(name)) // the file was checked
		if s.access[name], err = newModelAccess(kind, c.agentEnv(kind, entry)); err != nil {
			return fmt.Errorf("agent %s: %w", name, err)
		}
	}
	s.socket = filepath.Join(s.data, "network.sock")
	listener, err := sandbox.ListenSocket(s.socket)
	if err != nil {
		return err
	}
	s.proxy = egress.New(egress.Options{Client: s.clientOf, Ask: s.ask, Refused: s.refused.add, Log: c.Log})
	s.served = make(chan error, 1)
	go func() { s.served <- s.proxy.Serve(listener) }()
	return nil
}

// Close stops the proxy.
func (s *hostSandbox) Close() error {
	if s.proxy == nil {
		return nil
	}
	return errors.Join(s.proxy.Close(), <-s.served)
}

// hostSandbox implements agenthost.Sandbox: it knows what the host's configuration
// and workspaces add.
type hostSandbox struct {
	*sandbox.Sandbox
	file       HostFile
	workspaces *workspace.Manager
	data       string
	log        *slog.Logger

	users *sessionUsers // nil: programs have the host's user id

	localPort int                    // of the listener for programs in workspaces; 0 = none
	access    map[string]modelAccess // by agent, for networks of their own
	socket    string                 // of the proxy
	proxy     *egress.Server         // nil: no program needs it
	served    chan error             // the result of the proxy's Serve
	refused   refusals
	asker     atomic.Pointer[asker] // nil until the host's sessions can be asked
}

// accessLimit bounds the git commands that find a workspace's repository.
const accessLimit = 30 * time.Second

// Confine implements agenthost.Sandbox.
func (s *hostSandbox) Confine(to agenthost.Confined, c process.Command) (process.Command, error) {
	ctx, cancel := context.WithTimeout(context.Background(), accessLimit)
	defer cancel()
	access, err := s.workspaces.Access(ctx, to.Dir)
	if err != nil {
		return c, fmt.Errorf("sandbox: %w", err)
	}
	session := sandbox.Session{Name: to.Session, Home: to.StateDir, Write: access.Write, Read: access.Read}
	if session.User, err = s.userOf(to.Session, access.Root); err != nil {
		return c, fmt.Errorf("sandbox: %w", err)
	}
	if err := s.workspaces.Begin(ctx, to.Dir); err != nil { // the first diff takes longer then
		s.log.Warn("cannot read a new workspace", "session", to.Session, "error", err)
	}
	entry := s.file.Agents[to.Agent]
	configured := s.file.Sandbox
	for _, paths := range []SandboxPaths{
		configured.Agents[to.Agent], configured.Projects[to.Project], s.agentPaths(entry),
	} {
		session.Write, session.Read = slices.Concat(session.Write, paths.Write), slices.Concat(session.Read, paths.Read)
	}
	if err := s.connect(&session, to, &c); err != nil {
		return c, err
	}
	return s.Sandbox.Confine(session, c)
}

// confineReader implements workspace.Confine: a reader sees nothing but the workspace, and cannot change it. A writer can.
func (s *hostSandbox) confineReader(session, root string, writes bool, c process.Command) (process.Command, error) {
	user, err := s.readerUser(session, root)
	if err != nil {
		return c, fmt.Errorf("sandbox: %w", err)
	}
	if writes {
		return s.ConfineReader(user, nil, []string{root}, c)
	}
	return s.ConfineReader(user, []string{root}, nil, c)
}

// readerUser returns the user of a reader: that to which the workspace belongs, or for a directory of another owner
// that of the session's programs. A project in which no session works is read as its owner. nil is the host's user, to
// which a workspace belongs before the first program starts.
func (s *hostSandbox) readerUser(session, root string) (*owner.ID, error) {
	if s.users == nil {
		return nil, nil //nolint:nilnil // the host's user
	}
	at, err := owner.OfPath(root)
	switch {
	case err != nil:
		return nil, err
	case s.users.users.Has(at):
		return &at, nil
	case at == owner.Self():
		return nil, nil //nolint:nilnil // the host's user
	case session == "":
		return &at, nil
	}
	if at, err := s.workspaces.StateOwner(session); err == nil && s.users.users.Has(at) {
		return &at, nil
	}
	return s.SharedUser(), nil
}

// confineVersion confines a program that only prints its version, before any session. It
// gets the files of all agents, and no network.
func (s *hostSandbox) confineVersion(home string, c process.Command) (process.Command, error) {
	var read []string
	for _, paths := range s.file.Sandbox.Agents {
		read = slices.Concat(read, paths.Read, paths.Write)
	}
	return s.ConfineAlone(home, read, c)
}

// userOf returns the user of a session's programs, which owns the session's files from then on; nil for the
// host's.
func (s *hostSandbox) userOf(session, root string) (*owner.ID, error) {
	if s.users == nil {
		return nil, nil //nolint:nilnil // the host's user
	}
	if !s.Level().Namespaces {
		if err := s.workspaces.Admit(s.users.users.GID); err != nil {
			return nil, err
		}
	}
	return s.users.open(session, root)
}

// agentPaths returns the files that an agent's own entry names: a login, which the
// agent renews, a configuration, and a home directory in place of the session's.
func (s *hostSandbox) agentPaths(entry agents.Entry) (paths SandboxPaths) {
	if entry.Login != "" {
		paths.Write = append(paths.Write, entry.Login)
	}
	if entry.Config != "" {
		paths.Read = append(paths.Read, entry.Config)
	}
	if home := entry.Env["HOME"]; home != "" && sandbox.MayOpen(home, s.data) {
		paths.Write = append(paths.Write, home)
	}
	return paths
}

// sandboxStatus is what a host's status shows of its sandbox.
type sandboxStatus struct {
	*sandbox.Level

	Refused []refusal `json:"refused"` // targets of the network, the last one first
}

// Status implements agenthost.Sandbox.
func (s *hostSandbox) Status() any { return sandboxStatus{s.Level(), s.refused.list()} }

// Notices implements agenthost.Sandbox.
func (s *hostSandbox) Notices() []string {
	if s.Level().IsEnough() {
		return nil
	}
	return []string{"The sandbox of agents is " + s.Level().Summary()}
}
