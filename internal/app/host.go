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
	"bellhop/internal/filelock"
	"bellhop/internal/httpapi"
	"bellhop/internal/observe"
	"bellhop/internal/private"
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
	AllowInstalls  bool              // administrators of brokers may install agents' programs, from Registry

	NoSandbox   bool             // run agents without a sandbox, whatever File says
	Traces      observe.Observer // of all operations, beside the metrics; nil = none
	AdminListen string           // address for metrics and profiles, with Password; "" = none
	Log         *slog.Logger

	// Registry returns the URL of the npm registry; nil = nothing can be installed.
	Registry func(ctx context.Context) (string, error)

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

	server *server
	local  *server
	admin  *server // nil: there is no admin listener
	api    *hostapi.API
	guard  *diskspace.Guard
	log    *slog.Logger
	lock   *os.File // of the data directory

	hostParts
}

// hostParts is what the domain of a host is made of.
type hostParts struct {
	workspaces *workspace.Manager
	journal    *journal.Journal
	policy     *policy.Live
	sandbox    *hostSandbox
	agents     *providerSet
	offers     *offers
	record     *recording.Writer // nil: nothing is recorded

	operatorKey seal.Secret
	recordInput func(sessionID string, entry json.RawMessage) // nil: nothing is recorded
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
			Hint: "Brokers sign in with it. Set BELLHOP_HOST_PASSWORD or BELLHOP_HOST_PASSWORD_FILE, and give the same to " +
				"'bellhop hosts add'.",
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
	if err := private.Dir(c.Data); err != nil {
		return nil, unusableData(err)
	}
	lock, err := lockHost(c.Data)
	if err != nil {
		return nil, err
	}
	host, err := c.openLocked(attempt, origins)
	if err != nil {
		return nil, errors.Join(err, filelock.Release(lock))
	}
	host.lock = lock
	return host, nil
}

// openLocked opens the host on a data directory that no other host has.
func (c HostConfig) openLocked(attempt func(net.Listener, func() error) error, origins []string) (*Host, error) {
	guard := newGuard(c.Data, filepath.Join(c.Data, "reserve"), c.DiskWarning, c.Log)
	if err := guard.Release(); err != nil {
		c.Log.Warn("the reserve could not be released", "err", err)
	}
	listener, err := listen(cmp.Or(c.listenFlag, "BELLHOP_HOST_LISTEN"), c.Listen)
	if err != nil {
		return nil, err
	}
	if err := checkHostPassword(listener.Addr(), c.Password); err != nil {
		return nil, errors.Join(err, listener.Close())
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

func (c HostConfig) newHost(
	listener, localListener net.Listener, origins []string, disk diskspace.Monitor,
) (*Host, error) {
	records := c.records()
	if err := c.stopEarlierAgents(records); err != nil {
		return nil, err
	}
	host := &Host{log: c.Log}
	if err := host.openParts(c, records, localListener.Addr()); err != nil {
		return nil, errors.Join(err, host.closeParts())
	}
	publicURL := cmp.Or(c.PublicURL, localURL(listener.Addr()))
	measured := c.newHostMetrics(disk, func() *agenthost.Host { return host.Domain })
	life := protocol.NewLife(host.journal.ID(), place(c.Data))
	options := host.options(c)
	options.Life, options.BrokerLives = life, filepath.Join(c.Data, "broker-lives.json")
	observer := observe.Both(measured, c.Traces)
	options.PublicURL, options.LocalURL, options.Observer = publicURL, localURL(localListener.Addr()), observer
	var err error
	if host.Domain, err = agenthost.New(options); err != nil {
		return nil, errors.Join(err, host.closeParts())
	}
	host.sandbox.refused.showWith(refusalNotice(host.Domain))
	host.sandbox.askWith(host.Domain.AllowTarget)
	host.workspaces.SetUsers(host.Domain.UserOf)
	host.local = c.newLocalServer(localListener, host.Domain, host.workspaces, records)
	host.api = &hostapi.API{
		Host: host.Domain, Life: life.Short(), Password: c.Password, OperatorKey: host.operatorKey, PublicURL: publicURL,
		AllowedOrigins: httpapi.BrowserOrigins(origins), Log: c.Log, Disk: disk, Version: c.Version,
		Ready: (&probe.Probe{Check: host.journal.Probe}).Ready, Offer: host.offers.Current,
		Installations: host.agents.installations,
		Describe:      workspaceAdapter{host.workspaces}.describe, Metrics: measured.Handler(),
	}
	if err := c.newServers(host, listener, observer); err != nil {
		return nil, errors.Join(err, host.closeParts())
	}
	host.policy.ShowWith(func(isWrong bool) { showPolicy(host.api, isWrong) })
	return host, nil
}

// records is the directory of the records of running programs.
func (c HostConfig) records() string { return filepath.Join(c.Data, "processes") }

// openParts opens the parts. After an error closeParts releases those that are open.
func (p *hostParts) openParts(c HostConfig, records string, local net.Addr) (err error) {
	forges, err := c.File.openForges()
	if err != nil {
		return err
	}
	if p.workspaces, err = workspace.New(workspace.Options{
		Data: c.Data, Projects: c.File.workspaceProjects(), Forges: forges, Log: c.Log,
	}); err != nil {
		return err
	}
	if p.journal, err = journal.Open(c.Data, time.Now()); err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	if p.policy, err = c.File.openPolicy(c.Log); err != nil {
		return err
	}
	if p.operatorKey, err = openOperatorKey(c.Data); err != nil {
		return err
	}
	if c.sandbox, err = c.openSandbox(p.workspaces, local); err != nil {
		return err
	}
	p.sandbox = c.sandbox
	if p.agents, err = c.newProviders(records); err != nil {
		return err
	}
	p.offers = newOffers(p.agents, p.workspaces)
	if p.agents.installations, err = c.openInstallations(p.agents.cache, p.offers.Changed); err != nil {
		return err
	}
	p.record, p.recordInput, err = c.openRecording()
	return err
}

// options returns the domain's options, without what the listeners and metrics decide.
func (p *hostParts) options(c HostConfig) agenthost.Options {
	secrets := append(c.secretValues(), p.operatorKey.Reveal())
	return agenthost.Options{
		Journal: p.journal, Providers: p.agents.providers, DefaultAgent: c.defaultAgent(),
		Secrets: func(string) []string { return secrets }, Record: p.recordInput,
		Shells:     c.File.Terminal.options(c),
		Workspaces: workspaceAdapter{p.workspaces}, Sandbox: p.sandbox, Password: c.Password, Policy: p.policy, Log: c.Log,
	}
}

// closeParts releases the parts that are open.
func (p *hostParts) closeParts() error {
	var failures []error
	if p.agents != nil && p.agents.installations != nil { // its checks of programs use the sandbox
		failures = append(failures, p.agents.installations.Close())
	}
	if p.sandbox != nil {
		failures = append(failures, p.sandbox.Close())
	}
	if p.workspaces != nil {
		failures = append(failures, p.workspaces.Close())
	}
	if p.journal != nil {
		failures = append(failures, p.journal.Close())
	}
	return errors.Join(append(failures, p.record.Close())...)
}

// refusalNotice shows the readers of a session which network target the sandbox refused.
func refusalNotice(domain *agenthost.Host) func(session, target string) {
	return func(session, target string) {
		domain.ShowNotice(session, "warning", "The sandbox refused the network target "+target+
			". The operator lists targets under sandbox.allow.")
	}
}

// newServers creates the server of the host's API, and the admin listener if one is wanted.
func (c HostConfig) newServers(host *Host, listener net.Listener, observer observe.Observer) (err error) {
	handler := httpapi.New(httpapi.Options{Log: c.Log, Proxies: c.proxies, Observer: observer})
	host.api.Routes(handler)
	operator := adminConfig{Variable: "BELLHOP_HOST_ADMIN_LISTEN", Listen: c.AdminListen, Secret: c.Password, Log: c.Log}
	if host.admin, err = operator.open(host.api.Metrics); err != nil {
		return err
	}
	host.server = newServer(listener, httpapi.ForwardedHost(c.proxies, handler), c.Log)
	host.server.http.RegisterOnShutdown(host.api.End)
	host.api.Streams = &host.server.streams
	host.URL = host.server.url
	return nil
}

// stopEarlierAgents stops the agents of a crashed host before new ones use their workspaces.
func (c HostConfig) stopEarlierAgents(records string) error {
	if err := os.MkdirAll(records, 0o700); err != nil {
		return fmt.Errorf("BELLHOP_HOST_DATA: %w", err)
	}
	switch stopped, err := process.Sweep(records); {
	case err != nil:
		c.Log.Warn("could not stop the agents of an earlier run", "err", err)
	case stopped > 0:
		c.Log.Info("stopped the agents of an earlier run", "count", stopped)
	}
	return nil
}

// Run serves until ctx ends. Then it stops accepting requests, interrupts the
// agents, journals, streams and posts the ends of their turns, and closes.
func (h *Host) Run(ctx context.Context) error {
	h.log.Info("agent host listens", "url", h.URL)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return h.server.serve(ctx) })
	group.Go(func() error { return h.local.serve(ctx) })
	if h.admin != nil {
		group.Go(func() error { return h.admin.serve(ctx) })
	}
	group.Go(func() error { return h.Domain.Run(ctx) })
	group.Go(func() error { return h.policy.Run(ctx) })
	group.Go(func() error { return h.guard.Run(ctx) })
	err := ignoreCancelled(group.Wait())
	closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbyeTimeout)
	defer cancel()
	h.api.Wait(closeCtx)
	return errors.Join(err, h.closeParts(), filelock.Release(h.lock))
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
	return errors.Join(h.server.listener.Close(), h.local.listener.Close(), h.admin.close(), h.closeParts(), filelock.Release(h.lock))
}

func ignoreCancelled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
