package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"bellhop/agenthost"
	hostapi "bellhop/agenthost/api"
	"bellhop/agenthost/journal"
	"bellhop/agenthost/recording"
	"bellhop/agenthost/workspace"
	"bellhop/crypto/seal"
	"bellhop/internal/diskspace"
	"bellhop/internal/httpapi"
	"bellhop/internal/probe"
	"bellhop/internal/process"
	"bellhop/policy"
	"bellhop/protocol"
)

// goodbyeTimeout bounds the time for the last messages to WebSocket clients.
const goodbyeTimeout = 500 * time.Millisecond

// HostConfig configures an agent host.
type HostConfig struct {
	Listen         string
	LocalListen    string // loopback address for programs in workspaces; "" = 127.0.0.1 with a port that is kept
	PublicURL      string // "" = the URL of the listener
	Password       seal.Secret
	Data           string
	Record         string // file or directory of the recording of sessions' inputs; "" = none
	File           HostFile
	AllowedOrigins []string
	TrustedProxies []string          // as in BrokerConfig
	DemoAgent      []string          // command line of the agent "demo"; empty = not offered
	Agent          string            // default agent, before that of File; acp:COMMAND defines one; "" = that of File
	Model          string            // model of Agent in sessions that name none; "" = that of File
	AgentsDir      string            // directory of installed programs; "" = in the user's cache directory
	AgentEnv       map[string]string // values of agents.Variables that are set
	Version        string            // of the program, for recordings and clients of lines
	DiskWarning    int64             // bytes of free space below which a warning is shown; 0 = none
	NoSandbox      bool              // run agents without a sandbox, whatever File says
	Log            *slog.Logger

	// Providers are further agents, by id, for tests and benchmarks.
	Providers map[string]agenthost.Provider

	sandbox    *hostSandbox   // of the host that is being opened; nil = none
	proxies    []netip.Prefix // of TrustedProxies
	listenFlag string         // name of the setting Listen in errors; "" = BELLHOP_HOST_LISTEN
}

// Host is an agent host whose listeners are bound. It answers requests once Run
// is called.
type Host struct {
	Domain *agenthost.Host
	URL    string // reachable from this machine

	server  *server
	local   *server
	api     *hostapi.API
	journal *journal.Journal
	policy  *policy.Live
	record  *recording.Writer // nil: nothing is recorded
	guard   *diskspace.Guard

	workspaces *workspace.Manager
	sandbox    *hostSandbox
	log        *slog.Logger
}

// OpenHost binds the listeners, stops agents of a crashed host, opens the journal
// and closes the turns that the crash left open. It fails on a
// disk without room for that.
func OpenHost(c HostConfig) (*Host, error) {
	return c.open(func(_ net.Listener, open func() error) error { return open() })
}

// AwaitHost is OpenHost, but on a full disk it answers health checks and waits for
// room until ctx ends.
func AwaitHost(ctx context.Context, c HostConfig) (*Host, error) {
	return c.open(func(listener net.Listener, open func() error) error {
		return openWithRoom(ctx, listener, c.Log, open)
	})
}

func (c HostConfig) open(attempt func(net.Listener, func() error) error) (*Host, error) {
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
	if c.proxies, err = httpapi.ParseProxies("BELLHOP_HOST_TRUSTED_PROXIES", c.TrustedProxies); err != nil {
		return nil, err
	}
	if c.PublicURL != "" {
		if c.PublicURL, err = checkURL("BELLHOP_HOST_PUBLIC_URL", c.PublicURL); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, fmt.Errorf("BELLHOP_HOST_DATA: %w", err)
	}
	guard := newGuard(c.Data, filepath.Join(c.Data, "reserve"), c.DiskWarning, c.Log)
	if err := guard.Release(); err != nil {
		c.Log.Warn("the reserve could not be released", "err", err)
	}
	listener, err := listen(cmp.Or(c.listenFlag, "BELLHOP_HOST_LISTEN"), c.Listen)
	if err != nil {
		return nil, err
	}
	localListener, err := c.listenLocal()
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	var host *Host
	err = attempt(listener, func() (err error) {
		host, err = c.newHost(listener, localListener, origins, guard.Monitor)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, listener.Close(), localListener.Close())
	}
	host.guard = guard
	return host, nil
}

func (c HostConfig) newHost(listener, localListener net.Listener, origins []string, disk diskspace.Monitor) (*Host, error) {
	// Agents of a crashed host must stop before new ones use their workspaces.
	records := filepath.Join(c.Data, "processes")
	if err := os.MkdirAll(records, 0o700); err != nil {
		return nil, fmt.Errorf("BELLHOP_HOST_DATA: %w", err)
	}
	switch stopped, err := process.Sweep(records); {
	case err != nil:
		c.Log.Warn("could not stop the agents of an earlier run", "err", err)
	case stopped > 0:
		c.Log.Info("stopped the agents of an earlier run", "count", stopped)
	}
	workspaces, err := workspace.New(workspace.Options{Data: c.Data, Projects: c.File.workspaceProjects(), Log: c.Log})
	if err != nil {
		return nil, err
	}
	eventJournal, err := journal.Open(c.Data, time.Now())
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	publicURL := c.PublicURL
	if publicURL == "" {
		publicURL = localURL(listener.Addr())
	}
	livePolicy, err := c.File.openPolicy(c.Log)
	if err != nil {
		return nil, errors.Join(err, eventJournal.Close())
	}
	if c.sandbox, err = c.openSandbox(workspaces, localListener.Addr()); err != nil {
		return nil, errors.Join(err, eventJournal.Close())
	}
	providers, err := c.newProviders(records)
	if err != nil {
		return nil, errors.Join(err, c.sandbox.Close(), eventJournal.Close())
	}
	secrets := c.secretValues()
	record, recordInput, err := c.openRecording()
	if err != nil {
		return nil, errors.Join(err, c.sandbox.Close(), eventJournal.Close())
	}
	domain, err := agenthost.New(agenthost.Options{
		Journal: eventJournal, Providers: providers, DefaultAgent: c.defaultAgent(),
		Secrets: func(string) []string { return secrets }, Record: recordInput,
		Workspaces: workspaces, Sandbox: c.sandbox, Password: c.Password, PublicURL: publicURL,
		LocalURL: localURL(localListener.Addr()), Policy: livePolicy, Log: c.Log,
	})
	if err != nil {
		return nil, errors.Join(err, record.Close(), c.sandbox.Close(), eventJournal.Close())
	}
	c.sandbox.refused.showWith(func(session, target string) {
		domain.ShowNotice(session, "warning", "The sandbox refused the network target "+target+". The operator lists targets under sandbox.allow.")
	})
	api := &hostapi.API{
		Host: domain, Password: c.Password, PublicURL: publicURL, AllowedOrigins: origins, Log: c.Log, Disk: disk, Version: c.Version,
		Ready: (&probe.Probe{Check: eventJournal.Probe}).Ready,
	}
	handler := httpapi.New(httpapi.Options{Log: c.Log, Proxies: c.proxies})
	api.Routes(handler)
	srv := newServer(listener, httpapi.ForwardedHost(c.proxies, handler), c.Log)
	srv.http.RegisterOnShutdown(api.End)
	return &Host{
		Domain: domain, URL: srv.url, server: srv, local: c.newLocalServer(localListener, domain, workspaces, records),
		api: api, journal: eventJournal, policy: livePolicy, record: record, workspaces: workspaces, sandbox: c.sandbox, log: c.Log,
	}, nil
}

// Run serves until ctx ends. Then it stops accepting requests, interrupts the
// agents, journals, streams and posts the ends of their turns, and closes.
func (h *Host) Run(ctx context.Context) error {
	h.log.Info("agent host listens", "url", h.URL)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return h.server.serve(ctx) })
	group.Go(func() error { return h.local.serve(ctx) })
	group.Go(func() error { return h.Domain.Run(ctx) })
	group.Go(func() error { return h.policy.Run(ctx) })
	group.Go(func() error { return h.guard.Run(ctx) })
	err := ignoreCancelled(group.Wait())
	closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbyeTimeout)
	defer cancel()
	h.api.Wait(closeCtx)
	return errors.Join(err, h.sandbox.Close(), h.workspaces.Close(), h.journal.Close(), h.record.Close())
}

// openRecording returns nothing but nil if no recording is wanted.
func (c HostConfig) openRecording() (*recording.Writer, func(string, json.RawMessage), error) {
	if c.Record == "" {
		return nil, nil, nil
	}
	writer, err := recording.Create(recording.Options{Path: c.Record, Version: c.Version, Log: c.Log})
	if err != nil {
		return nil, nil, err
	}
	c.Log.Info("record the inputs of all sessions", "file", writer.Path())
	return writer, writer.Record, nil
}

// Close releases the listeners and files if Run is not called.
func (h *Host) Close() error {
	return errors.Join(h.server.listener.Close(), h.local.listener.Close(), h.sandbox.Close(), h.workspaces.Close(), h.journal.Close(), h.record.Close())
}

func ignoreCancelled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
