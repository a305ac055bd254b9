package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"bellhop/broker"
	"bellhop/broker/api"
	"bellhop/broker/auth"
	"bellhop/broker/feed"
	"bellhop/broker/hosts"
	"bellhop/broker/store"
	"bellhop/crypto/seal"
	"bellhop/internal/app/agents"
	"bellhop/internal/database"
	"bellhop/internal/diskspace"
	"bellhop/internal/httpapi"
	"bellhop/internal/netguard"
	"bellhop/internal/probe"
	"bellhop/notebook"
	"bellhop/notebook/verify"
	"bellhop/web"
	"bellhop/webhook/inbound"
	"bellhop/webhook/outbound"
)

// BrokerConfig configures a broker.
type BrokerConfig struct {
	StoreConfig

	Listen          string
	PublicURL       string // "" = the listener's
	WebhookURL      string // "" = PublicURL
	AllowedOrigins  []string
	TrustedProxies  []string // addresses and CIDRs whose X-Forwarded-For and X-Forwarded-Host are believed
	OutboundAllow   []netip.Prefix
	AllowLoopback   bool // users' agent URLs may name this machine (dev)
	CustomAgentURL  string
	CustomPasswords bool // CustomAgentURL gets the stored password of the task or its host
	DefaultAgent    string
	AgentLifetime   time.Duration    // of inactive notebook connections; 0 = 30 days
	VerifyWorker    []string         // command line of "bellhop verify-worker"; nil = most languages are unsupported
	VerifyCache     string           // directory for what verify workers compile; "" = a temporary one
	Version         string           // of this program
	DiskWarning     int64            // bytes of free space below which a warning is shown; 0 = none
	Now             func() time.Time // nil = time.Now

	listenFlag string // name of the setting Listen in errors; "" = BELLHOP_LISTEN
}

// relayTimeout bounds a relayed stream. Frontends attach again after it.
const relayTimeout = 24 * time.Hour

// Broker is a broker whose listener is bound. It answers requests once Run is
// called.
type Broker struct {
	*Admin
	Tasks      *broker.Tasks
	Sessions   *broker.Sessions
	Notebooks  *notebook.Service
	Reconciler *broker.Reconciler
	URL        string // reachable from this machine

	server      *server
	feed        *feed.Feed
	maintenance *broker.Maintenance
	ends        *broker.SessionEnds
	outbound    *outbound.Worker
	verifier    *verify.Verifier
	incarnation *broker.Incarnation
	recovery    *broker.Recovery
	guard       *diskspace.Guard // nil for a database on a server
}

// Admin is the part of a broker that administration commands use.
type Admin struct {
	Auth  *auth.Service
	Hosts *broker.Hosts
	Store *store.Store

	db     *database.DB
	sealer *seal.Sealer
	config BrokerConfig
}

// OpenAdmin opens the database for an administration command.
func OpenAdmin(ctx context.Context, c StoreConfig) (*Admin, error) {
	return openAdmin(ctx, BrokerConfig{StoreConfig: c})
}

func openAdmin(ctx context.Context, c BrokerConfig) (*Admin, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	sealer, err := c.newSealer()
	if err != nil {
		return nil, err
	}
	db, st, err := c.openStore(ctx, sealer)
	if err != nil {
		return nil, err
	}
	return &Admin{
		Auth: auth.New(auth.Options{
			Users: st, Tokens: st, Links: st, Logins: st, Attempts: st, PublicURL: c.PublicURL, Now: c.Now, Log: c.Log,
		}),
		Hosts: &broker.Hosts{Store: st, Now: c.Now, Log: c.Log},
		Store: st, db: db, sealer: sealer, config: c,
	}, nil
}

// Close closes the database.
func (a *Admin) Close() error { return a.db.Close() }

// OpenBroker binds the listener, migrates the database and checks the keyset. While
// a database has no room for that, it answers health checks and waits until ctx ends.
func OpenBroker(ctx context.Context, c BrokerConfig) (*Broker, error) {
	listener, err := listen(cmp.Or(c.listenFlag, "BELLHOP_LISTEN"), c.Listen)
	if err != nil {
		return nil, err
	}
	guard := fileGuard(c.DatabaseURL.Reveal(), c.DiskWarning, c.Log)
	if guard != nil {
		if err := guard.Release(); err != nil {
			c.Log.Warn("the reserve could not be released", "err", err)
		}
	}
	var b *Broker
	err = openWithRoom(ctx, listener, c.Log, func() (err error) {
		b, err = openBroker(ctx, c, listener)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	b.guard = guard
	return b, nil
}

func openBroker(ctx context.Context, c BrokerConfig, listener net.Listener) (*Broker, error) {
	if err := c.resolveURLs(listener); err != nil {
		return nil, err
	}
	origins, err := httpapi.ParseOrigins(c.AllowedOrigins)
	if err != nil {
		return nil, fmt.Errorf("BELLHOP_ALLOWED_ORIGINS: %w", err)
	}
	proxies, err := httpapi.ParseProxies("BELLHOP_TRUSTED_PROXIES", c.TrustedProxies)
	if err != nil {
		return nil, err
	}
	admin, err := openAdmin(ctx, c)
	if err != nil {
		return nil, err
	}
	b, err := admin.newBroker(ctx, listener, origins, proxies)
	if err != nil {
		return nil, errors.Join(err, admin.Close())
	}
	return b, nil
}

func (c *BrokerConfig) resolveURLs(listener net.Listener) (err error) {
	if c.PublicURL == "" {
		c.PublicURL = localURL(listener.Addr())
	}
	if c.PublicURL, err = checkURL("BELLHOP_PUBLIC_URL", c.PublicURL); err != nil {
		return err
	}
	if c.WebhookURL == "" {
		c.WebhookURL = c.PublicURL
	}
	if c.WebhookURL, err = checkURL("BELLHOP_WEBHOOK_URL", c.WebhookURL); err != nil {
		return err
	}
	if c.CustomAgentURL != "" {
		if c.CustomAgentURL, err = checkURL("BELLHOP_CUSTOM_AGENT_URL", c.CustomAgentURL); err != nil {
			return err
		}
		c.Log.Warn("every task uses the custom agent URL instead of its host or its own URL",
			"url", c.CustomAgentURL, "sends_stored_passwords", c.CustomPasswords)
	}
	return nil
}

// newBroker creates the use cases, the feed, the console and the HTTP server, and
// connects them.
func (a *Admin) newBroker(
	ctx context.Context, listener net.Listener, origins []string, proxies []netip.Prefix,
) (*Broker, error) {
	c, now, log := a.config, a.config.Now, a.config.Log
	installation, err := a.Store.InstallationID(ctx)
	if err != nil {
		return nil, err
	}
	guard := netguard.New(netguard.Options{AllowCIDRs: c.OutboundAllow, AllowLoopback: c.AllowLoopback})
	books := a.newNotebooks(a.sealer, guard)
	st := a.Store
	link := hosts.New(hosts.Options{
		Guarded: guard.Client(netguard.Timeouts{}), GuardedStreams: guard.Client(netguard.Timeouts{Total: relayTimeout}), Log: log,
	})

	incarnation := &broker.Incarnation{Store: st, Log: log}
	if err := incarnation.Load(ctx); err != nil {
		return nil, err
	}
	changes := feed.New(&broker.Feeds{Store: st}, feed.Options{Agents: books, Log: log})
	books.notifier.feed = changes
	updater := &broker.Updater{Store: st, Notifier: changes, Webhooks: taskWebhooks{books.outbound}, Now: now}
	targets := &broker.Targets{Store: st, CustomAgentURL: c.CustomAgentURL, CustomPasswords: c.CustomPasswords, Now: now}
	ends := &broker.SessionEnds{Store: st, Updater: updater, Targets: targets, Link: link, Now: now, Log: log}
	tasks := &broker.Tasks{
		Store: st, Updater: updater, Ends: ends, DefaultAgent: c.DefaultAgent, CheckURL: guard.CheckURL, Now: now, Log: log,
	}
	reconciler := &broker.Reconciler{Store: st, Updater: updater, Targets: targets, Link: link, Now: now, Log: log}
	ingest := &broker.Ingest{Store: st, Updater: updater, Reconciler: reconciler, Incarnation: incarnation, Now: now, Log: log}
	reconciler.Ingest, tasks.Reconciler = ingest, reconciler
	sessions := &broker.Sessions{
		Store: st, Updater: updater, Targets: targets, Link: link, Ends: ends, Reconciler: reconciler, BrokerID: installation,
		Incarnation: incarnation, PublicURL: c.WebhookURL, BrowserURL: c.PublicURL, Relayer: link, Now: now, Log: log,
	}
	a.Hosts.Link, a.Hosts.Ends = link, ends

	console, err := a.newConsole(sessions)
	if err != nil {
		return nil, err
	}
	front := &api.API{
		Auth: a.Auth, Tasks: tasks, Sessions: sessions, Hosts: a.Hosts, Feed: changes,
		Adoption:     &broker.Adoption{Store: st, Updater: updater, Link: link, Hosts: link, Sessions: sessions, Now: now, Log: log},
		Interactions: &broker.Interactions{Store: st, Targets: targets, Link: link, Reconciler: reconciler},
		Webhook:      inbound.New(inbound.Options{Ingest: ingest, Sessions: sessions, Incarnation: incarnation.ID, Now: now, Log: log}),
		Parts:        books.apiParts(a), Agents: offeredAgents(), Doctor: a.diagnose,
		Ready: (&probe.Probe{Check: a.Store.Probe}).Ready, PublicURL: c.PublicURL, WebhookURL: c.WebhookURL,
		AllowedOrigins: origins, Proxies: proxies, Log: log, Console: console,
	}
	if path := database.FilePath(c.DatabaseURL.Reveal()); path != "" {
		front.Disk = diskspace.Monitor{Path: filepath.Dir(path), WarnBelow: c.DiskWarning}
	}
	srv := newServer(listener, front.Handler(), log)
	srv.http.RegisterOnShutdown(front.End)
	return &Broker{
		Admin: a, Tasks: tasks, Sessions: sessions, Notebooks: books.Service,
		outbound: books.worker, verifier: books.verifier, Reconciler: reconciler, URL: srv.url,
		server: srv, feed: changes, maintenance: &broker.Maintenance{Store: st, Updater: updater, Now: now, Log: log},
		incarnation: incarnation, ends: ends,
		recovery: &broker.Recovery{
			Store: st, Link: link, Targets: targets, Incarnation: incarnation, Reconciler: reconciler, BrokerID: installation, Now: now, Log: log,
		},
	}, nil
}

func (a *Admin) newConsole(sessions *broker.Sessions) (*web.Console, error) {
	files, _ := web.Build()
	return web.New(web.Options{
		Files: files, Base: api.BasePath(a.config.PublicURL), Version: a.config.Version, Visitor: api.Visitor(a.Auth, sessions),
	})
}

// offeredAgents returns the agents that a task can name, the demo agent first.
func offeredAgents() []api.Agent {
	offered := []api.Agent{{ID: agents.Demo, Title: "Demo agent"}}
	for _, a := range agents.All() {
		if a.BuiltIn {
			offered = append(offered, api.Agent{ID: a.Kind, Title: a.Title})
		}
	}
	return offered
}

// Run serves until ctx ends. Then it stops accepting requests, sends bye on the
// feeds, waits for open requests and closes the database.
func (b *Broker) Run(ctx context.Context) error {
	b.config.Log.Info("broker listens", "url", b.URL)
	group, ctx := errgroup.WithContext(ctx)
	runs := []func(context.Context) error{
		b.server.serve, b.feed.Run, b.Reconciler.Run, b.maintenance.Run, b.Hosts.Run, b.Notebooks.Run, b.outbound.Run,
		b.incarnation.Run, b.recovery.Run, b.ends.Run, func(ctx context.Context) error { return b.Store.Move(ctx, b.config.Log) },
	}
	if b.guard != nil {
		runs = append(runs, b.guard.Run)
	}
	for _, run := range runs {
		group.Go(func() error { return run(ctx) })
	}
	err := ignoreCancelled(group.Wait())
	b.verifier.Close()
	return errors.Join(err, b.db.Close())
}

// Close releases the listener and the database if Run is not called.
func (b *Broker) Close() error {
	return errors.Join(b.server.listener.Close(), b.db.Close())
}
