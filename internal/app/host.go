package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"bellhop/agenthost"
	hostapi "bellhop/agenthost/api"
	"bellhop/agenthost/journal"
	"bellhop/agenthost/workspace"
	"bellhop/crypto/seal"
	"bellhop/internal/httpapi"
	"bellhop/internal/process"
	"bellhop/policy"
	"bellhop/protocol"
)

// linesWait is how long WebSocket clients get to hear why they are sent away.
const linesWait = 500 * time.Millisecond

// HostConfig configures an agent host.
type HostConfig struct {
	Listen         string
	LocalListen    string // for programs in workspaces, on the loopback; "" = 127.0.0.1 and a port that stays
	PublicURL      string // "" = the listener's
	Password       seal.Secret
	Data           string
	File           HostFile
	AllowedOrigins []string
	DemoAgent      []string          // command line of the agent "demo"; none leaves it out
	Agent          string            // "" or the default one, before the file's; acp:COMMAND makes one
	Model          string            // of Agent in sessions that name none; "" = the file's
	AgentsDir      string            // where agents' programs are installed; "" = the user's cache
	AgentEnv       map[string]string // of AgentVariables, those that are set
	Log            *slog.Logger

	// Providers are further agents, by id: tests and benchmarks bring theirs.
	Providers map[string]agenthost.Provider
}

// Host is an agent host with its listener bound: requests wait until Run.
type Host struct {
	Domain *agenthost.Host
	URL    string // how this machine reaches it

	server  *server
	local   *server
	api     *hostapi.API
	journal *journal.Journal
	policy  *policy.Live

	workspaces *workspace.Manager
	log        *slog.Logger
}

// OpenHost opens the journal, ends what a crash left open, and binds the
// listener.
func OpenHost(c HostConfig) (*Host, error) {
	if c.Password.IsZero() {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "BELLHOP_HOST_PASSWORD is not set",
			Hint: "Brokers sign in with it. Set BELLHOP_HOST_PASSWORD or BELLHOP_HOST_PASSWORD_FILE, and give the same to 'bellhop hosts add'.",
		}
	}
	origins, err := httpapi.ParseOrigins(c.AllowedOrigins)
	if err != nil {
		return nil, fmt.Errorf("BELLHOP_HOST_ALLOWED_ORIGINS: %w", err)
	}
	if c.PublicURL != "" {
		if c.PublicURL, err = checkURL("BELLHOP_HOST_PUBLIC_URL", c.PublicURL); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, fmt.Errorf("BELLHOP_HOST_DATA: %w", err)
	}
	listener, err := listen("BELLHOP_HOST_LISTEN", c.Listen)
	if err != nil {
		return nil, err
	}
	local, err := c.listenLocal()
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	host, err := c.assemble(listener, local, origins)
	if err != nil {
		return nil, errors.Join(err, listener.Close(), local.Close())
	}
	return host, nil
}

func (c HostConfig) assemble(listener, local net.Listener, origins []string) (*Host, error) {
	// What an earlier life of this host left running ends before anything else.
	processes := filepath.Join(c.Data, "processes")
	if err := os.MkdirAll(processes, 0o700); err != nil {
		return nil, fmt.Errorf("BELLHOP_HOST_DATA: %w", err)
	}
	switch swept, err := process.Sweep(processes); {
	case err != nil:
		c.Log.Warn("could not end the agents of an earlier life", "err", err)
	case swept > 0:
		c.Log.Info("ended the agents of an earlier life", "count", swept)
	}
	workspaces, err := workspace.New(workspace.Options{Data: c.Data, Projects: c.File.workspaceProjects(), Log: c.Log})
	if err != nil {
		return nil, err
	}
	kept, err := journal.Open(c.Data, time.Now())
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	public := c.PublicURL
	if public == "" {
		public = localURL(listener.Addr())
	}
	rules, err := c.File.openPolicy(c.Log)
	if err != nil {
		return nil, errors.Join(err, kept.Close())
	}
	providers, err := c.providers(processes)
	if err != nil {
		return nil, errors.Join(err, kept.Close())
	}
	secrets := c.secrets()
	domain, err := agenthost.New(agenthost.Options{
		Journal: kept, Providers: providers, DefaultAgent: c.defaultAgent(),
		Secrets:    func(string) []string { return secrets },
		Workspaces: workspaces, Password: c.Password, PublicURL: public, LocalURL: localURL(local.Addr()), Policy: rules, Log: c.Log,
	})
	if err != nil {
		return nil, errors.Join(err, kept.Close())
	}
	api := &hostapi.API{
		Host: domain, Password: c.Password, PublicURL: public, AllowedOrigins: origins, Log: c.Log,
	}
	handler := httpapi.New(httpapi.Options{Log: c.Log})
	api.Routes(handler)
	srv := newServer(listener, handler, c.Log)
	srv.http.RegisterOnShutdown(api.End)
	return &Host{Domain: domain, workspaces: workspaces, URL: srv.url, server: srv, local: c.localServer(local, domain, workspaces, processes), api: api, journal: kept, policy: rules, log: c.Log}, nil
}

// Run serves until ctx ends: then it accepts nothing more, interrupts the
// agents, journals how their turns ended, streams and posts it, and closes.
func (h *Host) Run(ctx context.Context) error {
	h.log.Info("agent host listens", "url", h.URL)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return h.server.run(ctx) })
	group.Go(func() error { return h.local.run(ctx) })
	group.Go(func() error { return h.Domain.Run(ctx) })
	group.Go(func() error { return h.policy.Run(ctx) })
	err := ignoreCancelled(group.Wait())
	farewell, cancel := context.WithTimeout(context.WithoutCancel(ctx), linesWait)
	defer cancel()
	h.api.Wait(farewell)
	return errors.Join(err, h.workspaces.Close(), h.journal.Close())
}

// Close gives up a host that was opened and will not run.
func (h *Host) Close() error {
	return errors.Join(h.server.listener.Close(), h.local.listener.Close(), h.workspaces.Close(), h.journal.Close())
}

func ignoreCancelled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
