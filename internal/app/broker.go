package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"

	"bellhop/broker"
	"bellhop/broker/api"
	"bellhop/broker/auth"
	"bellhop/broker/feed"
	"bellhop/broker/hosts"
	"bellhop/broker/store"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/httpapi"
	"bellhop/internal/netguard"
	"bellhop/notebook"
	"bellhop/web"
	"bellhop/webhook/inbound"
	"bellhop/webhook/outbound"
)

// BrokerConfig configures a broker.
type BrokerConfig struct {
	StoreConfig

	Listen         string
	PublicURL      string // "" = the listener's
	WebhookURL     string // "" = PublicURL
	AllowedOrigins []string
	OutboundAllow  []netip.Prefix
	AllowLoopback  bool // users' agent URLs may name this machine (dev)
	CustomAgentURL string
	DefaultAgent   string
	AgentLifetime  time.Duration    // of agent sessions without activity; 0 = 30 days
	VerifyWorker   []string         // command line of "bellhop verify-worker"; nil = most languages are unsupported
	Version        string           // of this program
	Now            func() time.Time // nil = time.Now
}

// longestRelay bounds a relayed stream; its reader attaches again.
const longestRelay = 24 * time.Hour

// Broker is a broker with its listener bound: requests wait until Run.
type Broker struct {
	*Admin
	Tasks      *broker.Tasks
	Sessions   *broker.Sessions
	Notebooks  *notebook.Service
	Reconciler *broker.Reconciler
	URL        string // how this machine reaches it

	server      *server
	feed        *feed.Feed
	maintenance *broker.Maintenance
	outbound    *outbound.Worker
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
	sealer, err := c.sealer()
	if err != nil {
		return nil, err
	}
	db, st, err := c.openStore(ctx, sealer)
	if err != nil {
		return nil, err
	}
	return &Admin{
		Auth:  auth.New(auth.Options{Users: st, Tokens: st, Links: st, Logins: st, PublicURL: c.PublicURL, Now: c.Now, Log: c.Log}),
		Hosts: &broker.Hosts{Store: st, Now: c.Now, Log: c.Log},
		Store: st, db: db, sealer: sealer, config: c,
	}, nil
}

// Close closes the database.
func (a *Admin) Close() error { return a.db.Close() }

// OpenBroker migrates the database, checks the keyset and binds the listener.
func OpenBroker(ctx context.Context, c BrokerConfig) (*Broker, error) {
	listener, err := listen("BELLHOP_LISTEN", c.Listen)
	if err != nil {
		return nil, err
	}
	b, err := openBroker(ctx, c, listener)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return b, nil
}

func openBroker(ctx context.Context, c BrokerConfig, listener net.Listener) (*Broker, error) {
	if err := c.urls(listener); err != nil {
		return nil, err
	}
	origins, err := httpapi.ParseOrigins(c.AllowedOrigins)
	if err != nil {
		return nil, fmt.Errorf("BELLHOP_ALLOWED_ORIGINS: %w", err)
	}
	admin, err := openAdmin(ctx, c)
	if err != nil {
		return nil, err
	}
	b, err := admin.broker(ctx, listener, origins)
	if err != nil {
		return nil, errors.Join(err, admin.Close())
	}
	return b, nil
}

func (c *BrokerConfig) urls(listener net.Listener) (err error) {
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
		c.CustomAgentURL, err = checkURL("BELLHOP_CUSTOM_AGENT_URL", c.CustomAgentURL)
	}
	return err
}

// broker wires the use cases and their edges.
func (a *Admin) broker(ctx context.Context, listener net.Listener, origins []string) (*Broker, error) {
	c, now, log := a.config, a.config.Now, a.config.Log
	installation, err := a.Store.InstallationID(ctx)
	if err != nil {
		return nil, err
	}
	guard := netguard.New(netguard.Options{AllowCIDRs: c.OutboundAllow, AllowLoopback: c.AllowLoopback})
	books := a.notebooks(a.sealer, guard)
	st := hookedStore{a.Store, books.outbound}
	link := hosts.New(hosts.Options{
		Guarded: guard.Client(netguard.Timeouts{}), GuardedStreams: guard.Client(netguard.Timeouts{Total: longestRelay}), Log: log,
	})

	tasks := &broker.Tasks{
		Store: st, Link: link, DefaultAgent: c.DefaultAgent, CustomAgentURL: c.CustomAgentURL, CheckURL: guard.CheckURL, Now: now, Log: log,
	}
	changes := feed.New(tasks, feed.Options{Agents: books, Log: log})
	tasks.Notifier, books.notifier.feed = changes, changes
	reconciler := &broker.Reconciler{Store: st, Link: link, Notifier: changes, CustomAgentURL: c.CustomAgentURL, Now: now, Log: log}
	ingest := &broker.Ingest{Store: st, Notifier: changes, Reconciler: reconciler, Now: now, Log: log}
	reconciler.Ingest = ingest
	sessions := &broker.Sessions{
		Store: st, Link: link, Notifier: changes, Reconciler: reconciler, BrokerID: installation,
		PublicURL: c.WebhookURL, BrowserURL: c.PublicURL, Relayer: link, CustomAgentURL: c.CustomAgentURL, Now: now, Log: log,
	}
	a.Hosts.Link = link

	files, _ := web.Build()
	console, err := web.New(web.Options{
		Files: files, Base: api.BasePath(c.PublicURL), Version: c.Version, Visitor: api.Visitor(a.Auth, sessions),
	})
	if err != nil {
		return nil, err
	}
	front := &api.API{
		Auth: a.Auth, Tasks: tasks, Sessions: sessions, Hosts: a.Hosts, Feed: changes,
		Interactions: &broker.Interactions{Store: st, Link: link, CustomAgentURL: c.CustomAgentURL, Now: now, Log: log},
		Webhook:      inbound.New(inbound.Options{Ingest: ingest, Sessions: sessions, Now: now, Log: log}),
		Parts:        books.parts(a),
		Ready:        a.db.Ping, PublicURL: c.PublicURL, WebhookURL: c.WebhookURL,
		AllowedOrigins: origins, Log: log, Console: console,
	}
	srv := newServer(listener, front.Handler(), log)
	srv.http.RegisterOnShutdown(front.End)
	return &Broker{
		Admin: a, Tasks: tasks, Sessions: sessions, Notebooks: books.Service, outbound: books.worker, Reconciler: reconciler, URL: srv.url,
		server: srv, feed: changes, maintenance: &broker.Maintenance{Store: st, Notifier: changes, Now: now, Log: log},
	}, nil
}

// Run serves until ctx ends: then it accepts nothing more, the feeds say bye,
// what is under way finishes, and the database is closed.
func (b *Broker) Run(ctx context.Context) error {
	b.config.Log.Info("broker listens", "url", b.URL)
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range []func(context.Context) error{
		b.server.run, b.feed.Run, b.Reconciler.Run, b.maintenance.Run, b.Hosts.Run, b.Notebooks.Run, b.outbound.Run,
	} {
		group.Go(func() error { return run(ctx) })
	}
	return errors.Join(ignoreCancelled(group.Wait()), b.db.Close())
}

// Close gives up a broker that was opened and will not run.
func (b *Broker) Close() error {
	return errors.Join(b.server.listener.Close(), b.db.Close())
}
