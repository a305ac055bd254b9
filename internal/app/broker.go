package app

import (
	"cmp"
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
	"bellhop/internal/diskspace"
	"bellhop/internal/heldtime"
	"bellhop/internal/httpapi"
	"bellhop/internal/metrics"
	"bellhop/internal/netguard"
	"bellhop/internal/observe"
	"bellhop/internal/probe"
	"bellhop/notebook"
	"bellhop/notebook/verify"
	"bellhop/webhook/inbound"
	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/notification"
)

// BrokerConfig configures a broker.
type BrokerConfig struct {
	StoreConfig

	Listen          string
	PublicURL       string // "" = the listener's
	WebhookURL      string // "" = PublicURL
	AllowedOrigins  []string
	StreamOrigins   []string // that agent hosts may name to the console, besides their own names
	TrustedProxies  []string // addresses and CIDRs whose X-Forwarded-For and X-Forwarded-Host are believed
	OutboundAllow   []netip.Prefix
	AllowLoopback   bool // users' agent URLs may name this machine (dev)
	CustomAgentURL  string
	Terminals       broker.ShellRights // who may open terminals
	CustomPasswords bool               // CustomAgentURL gets the stored password of the task or its host
	DefaultAgent    string
	AgentLifetime   time.Duration // of inactive notebook connections; 0 = 30 days
	VerifyWorker    []string      // command line of "bellhop verify-worker"; nil = most languages are unsupported
	VerifyCache     string        // directory for what verify workers compile; "" = a temporary one
	AdminListen     string        // address for metrics and profiles; "" = none
	AdminToken      seal.Secret   // of AdminListen
	TokenLife       time.Duration // how long API tokens may live; 0 = they need no expiry
	Quotas          Quotas        // of each user
	Retention       Retention
	Remember        *int             // tasks whose keys, tokens and states the broker remembers; nil = 20,000
	Traces          observe.Observer // of all operations, beside the metrics; nil = none
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

	link        *hosts.Client
	server      *server
	admin       *server // nil: there is no admin listener
	feed        *feed.Feed
	maintenance *broker.Maintenance
	ends        *broker.SessionEnds
	revocations *broker.Revocations

	queue         *broker.Queue
	announcements *broker.Announcements
	offers        *broker.Offers
	outbound      *outbound.Worker
	browsers      *notification.Service
	verifier      *verify.Verifier
	incarnation   *broker.Incarnation
	life          *broker.DatabaseLife
	recovery      *broker.Recovery
	guard         *diskspace.Guard // nil for a database on a server
}

// Admin is the part of a broker that administration commands use.
type Admin struct {
	Auth  *auth.Service
	Hosts *broker.Hosts
	Audit *broker.AuditLog
	Store *store.Store
	Forge *broker.ForgeTokens // users' own tokens

	db     *database.DB
	sealer *seal.Sealer
	config BrokerConfig

	// Of a broker that serves:
	metrics    *metrics.Metrics
	deliveries *outbound.Service
	held       *heldtime.Clock
}

// observer returns the observer of all use cases; nil for an administration command.
func (a *Admin) observer() observe.Observer {
	if a.metrics == nil {
		return nil
	}
	return observe.Both(a.metrics, a.config.Traces)
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
			Store: st, PublicURL: c.PublicURL, TokenLife: c.TokenLife, Requests: c.Quotas.Requests, Now: c.Now, Log: c.Log,
		}),
		Hosts: &broker.Hosts{Store: st, Now: c.Now, Log: c.Log},
		Audit: &broker.AuditLog{Store: st, Now: c.Now}, Forge: &broker.ForgeTokens{Store: st, Now: c.Now},
		Store: st, db: db, sealer: sealer, config: c,
	}, nil
}

// Close closes the database.
func (a *Admin) Close() error { return a.db.Close() }

// OpenBroker binds the listener, migrates the database and checks the keyset. While
// a database has no room for that, it answers health checks and waits until ctx ends.
func OpenBroker(ctx context.Context, c BrokerConfig) (*Broker, error) {
	listener, second, err := listenForBrowsers(cmp.Or(c.listenFlag, "BELLHOP_LISTEN"), c.Listen)
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
		return nil, errors.Join(err, listener.Close(), closeListener(second))
	}
	if second != nil {
		b.server.second = httpapi.ReserveDescriptor(second, c.Log)
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
	if c.StreamOrigins, err = httpapi.ParseOrigins(c.StreamOrigins); err != nil {
		return nil, fmt.Errorf("BELLHOP_STREAM_ORIGINS: %w", err)
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
	guard := netguard.New(netguard.Options{AllowCIDRs: c.OutboundAllow, AllowLoopback: c.AllowLoopback})
	a.metrics = a.newMetrics()
	a.held = &heldtime.Clock{Wall: now, Store: a.Store, Log: log}
	if err := a.held.Load(ctx); err != nil {
		return nil, err
	}
	books, err := a.newNotebooks(ctx, guard)
	if err != nil {
		return nil, err
	}
	a.deliveries = books.outbound
	b, err := a.newUseCases(ctx, guard, books)
	if err != nil {
		return nil, err
	}
	console, err := a.newConsole(b.Sessions)
	if err != nil {
		return nil, err
	}
	link, targets := b.link, b.Sessions.Targets
	front := &api.API{
		BrokerID: b.Sessions.BrokerID, Life: b.life.Life, CopyNotice: link.CopyNotice,
		Auth: a.Auth, Tasks: b.Tasks, Sessions: b.Sessions, Queue: b.queue, Hosts: a.Hosts,
		Feed: b.feed, Announcements: b.announcements,
		Adoption: &broker.Adoption{
			Store: a.Store, Updater: b.Tasks.Updater, Link: link, Hosts: link, Sessions: b.Sessions, Now: now, Log: log,
		},
		Audit:        a.Audit,
		Interactions: &broker.Interactions{Store: a.Store, Targets: targets, Link: link, Reconciler: b.Reconciler},
		Quotas:       b.Sessions.Quotas,
		Webhook: inbound.New(inbound.Options{
			Ingest: b.Reconciler.Ingest, Sessions: b.Sessions, Incarnation: b.incarnation.ID, Now: now, Log: log,
			Remember: c.Remember,
		}),
		Parts: books.apiParts(a), Offers: b.offers, Workspaces: b.Tasks.Workspaces,
		Files: &broker.Files{Sessions: b.Sessions, Link: link, CommandLink: link, ContentLink: link}, Doctor: a.diagnose,
		Installations: &broker.Installations{
			Store: a.Store, Targets: targets, Link: link, Offers: b.offers, Now: now,
		},
		Ships:       &broker.Ships{Sessions: b.Sessions, Users: a.Store, Link: link, Tokens: a.Forge},
		ForgeTokens: a.Forge,
		Shells:      &broker.Shells{Sessions: b.Sessions, Store: a.Store, Link: link, Rights: c.Terminals},
		Ready:       (&probe.Probe{Check: a.Store.Probe}).Ready, PublicURL: c.PublicURL, WebhookURL: c.WebhookURL,
		AllowedOrigins: origins, Proxies: proxies, Log: log, Console: console, Disk: c.disk(),
		Metrics: a.metrics.Handler(), Observer: a.observer(),
	}
	a.addDocuments(front, b)
	operator := adminConfig{
		Variable: "BELLHOP_ADMIN_LISTEN", Listen: c.AdminListen, SecretVariable: "BELLHOP_ADMIN_TOKEN",
		Secret: c.AdminToken, Log: log,
	}
	if b.admin, err = operator.open(front.Metrics); err != nil {
		return nil, err
	}
	b.server = newServer(listener, front.Handler(), log)
	b.server.http.RegisterOnShutdown(front.End)
	b.URL = b.server.url
	return b, nil
}

// newUseCases returns a broker without its HTTP server.
func (a *Admin) newUseCases(ctx context.Context, guard *netguard.Guard, books *notebooks) (*Broker, error) {
	c, st, now, log := a.config, a.Store, a.config.Now, a.config.Log
	installation, err := st.InstallationID(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := a.sessionKeys(ctx)
	if err != nil {
		return nil, err
	}
	incarnation := &broker.Incarnation{Store: st, Log: log}
	if err := incarnation.Load(ctx); err != nil {
		return nil, err
	}
	life := &broker.DatabaseLife{Store: st, BrokerID: installation, Place: c.WebhookURL, Log: log}
	if err := life.Load(ctx); err != nil {
		return nil, err
	}
	lives := &broker.HostLives{Store: st, Now: now, Log: log}
	link := hosts.New(hosts.Options{
		Keys: keys, Life: life.Life, Lives: lives.Seen, Guarded: guard.Client(hosts.Timeouts()),
		GuardedStreams: guard.Client(netguard.Timeouts{Total: relayTimeout}), Dates: a.held.Confirm, Log: log,
		Observer: a.observer(),
	})
	changes := feed.New(&broker.Feeds{Store: st}, feed.Options{Agents: books, Log: log})
	books.notifier.feed = changes
	updater := &broker.Updater{Store: st, Notifier: changes, Webhooks: books.taskWebhooks(), Now: now}
	targets := &broker.Targets{Store: st, CustomAgentURL: c.CustomAgentURL, CustomPasswords: c.CustomPasswords, Now: now}
	lives.Targets, lives.Link = targets, link
	ends := &broker.SessionEnds{Store: st, Updater: updater, Targets: targets, Link: link, Now: now, Held: a.held.Now, Log: log}
	quotas := &broker.Quotas{Limits: c.Quotas.QuotaLimits, Store: st, Now: now}
	offers := &broker.Offers{Store: st, Targets: targets, Link: link, DefaultAgent: c.DefaultAgent, Now: now, Log: log}
	tasks := &broker.Tasks{
		Store: st, Updater: updater, Ends: ends, Offers: offers, Quotas: quotas, DefaultAgent: c.DefaultAgent,
		CheckURL: guard.CheckURL, Now: now, Log: log,
		Workspaces: &broker.Workspaces{Store: st, Targets: targets, Link: link, Log: log},
	}
	reconciler := &broker.Reconciler{Store: st, Updater: updater, Targets: targets, Link: link, Now: now, Log: log}
	reconciler.Ingest = &broker.Ingest{
		Store: st, Updater: updater, Reconciler: reconciler, Incarnation: incarnation, Lives: lives, Observer: a.observer(),
		Now: now, Log: log, Remember: c.Remember,
	}
	tasks.Reconciler = reconciler
	sessions := &broker.Sessions{
		Store: st, Updater: updater, Targets: targets, Link: link, Ends: ends, Offers: offers, Quotas: quotas,
		Reconciler: reconciler, BrokerID: installation, Incarnation: incarnation, PublicURL: c.WebhookURL,
		BrowserURL: c.PublicURL, Relayer: link, Origins: c.StreamOrigins, Observer: a.observer(), Now: now, Log: log,
	}
	queue := &broker.Queue{Store: st, Updater: updater, Sessions: sessions, Now: now, Log: log}
	updater.Queued = queue.Wake
	revocations := &broker.Revocations{
		Store: st, Targets: targets, Link: link, BrokerID: installation, Now: now, Held: a.held.Now, Log: log,
	}
	a.Hosts.Link, a.Hosts.Ends = link, ends
	return &Broker{
		Admin: a, Tasks: tasks, Sessions: sessions, Notebooks: books.Service, Reconciler: reconciler, link: link,
		outbound: books.worker, browsers: books.browsers, verifier: books.verifier, feed: changes, incarnation: incarnation, life: life,
		ends: ends, queue: queue, offers: offers, revocations: revocations,
		announcements: a.newAnnouncements(targets, link, installation, changes),
		maintenance: &broker.Maintenance{
			Store: st, Updater: updater, Tasks: tasks, Retention: c.Retention.Retention, Observer: a.observer(),
			Now: now, Held: a.held.Now, Log: log,
		},
		recovery: &broker.Recovery{
			Store: st, Link: link, Targets: targets, Incarnation: incarnation, Reconciler: reconciler, BrokerID: installation,
			Now: now, Log: log,
		},
	}, nil
}

func (a *Admin) newAnnouncements(
	targets *broker.Targets, link broker.AnnouncementLink, brokerID string, changes *feed.Feed,
) *broker.Announcements {
	return &broker.Announcements{
		Store: a.Store, Targets: targets, Link: link, BrokerID: brokerID, Notify: changes.Announced,
		Now: a.config.Now, Held: a.held.Now, Log: a.config.Log,
	}
}

// Run serves until ctx ends. Then it stops accepting requests, sends bye on the
// feeds, waits for open requests and closes the database.
func (b *Broker) Run(ctx context.Context) error {
	b.config.Log.Info("broker listens", "url", b.URL)
	group, ctx := errgroup.WithContext(ctx)
	runs := []func(context.Context) error{
		b.server.serve, b.feed.Run, b.Reconciler.Run, b.maintenance.Run, b.Hosts.Run, b.Notebooks.Run, b.outbound.Run,
		b.browsers.Run, b.incarnation.Run, b.life.Run, b.recovery.Run, b.ends.Run, b.revocations.Run, b.queue.Run, b.announcements.Run, b.held.Run,
		func(ctx context.Context) error { return b.Store.Index(ctx, b.config.Log) },
	}
	if b.guard != nil {
		runs = append(runs, b.guard.Run)
	}
	if b.admin != nil {
		runs = append(runs, b.admin.serve)
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
	return errors.Join(b.server.close(), b.admin.close(), b.db.Close())
}
