package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/internal/tracing"
	"bellhop/protocol"
)

type serveCommand struct {
	brokerFlags `embed:""`
	tracesFlags `embed:""`

	StreamOrigins   []string       `env:"BELLHOP_STREAM_ORIGINS" placeholder:"ORIGIN" help:"Exact origins that agent hosts may have the console stream from, besides those with the name of their registered URL, comma-separated. The console reaches others through the broker."`
	TrustedProxies  []string       `env:"BELLHOP_TRUSTED_PROXIES" placeholder:"CIDR" help:"Proxies in front of the broker, comma-separated addresses or CIDRs; their X-Forwarded-For and X-Forwarded-Host are believed."`
	OutboundAllow   []string       `env:"BELLHOP_OUTBOUND_ALLOW" placeholder:"CIDR" help:"Private addresses that users' agent URLs may name."`
	CustomAgentURL  string         `env:"BELLHOP_CUSTOM_AGENT_URL,CUSTOM_GOOSE_URL" placeholder:"URL" help:"Overrides every task's agent URL, for local development."`
	CustomPassword  bool           `name:"custom-agent-password-from-task" env:"BELLHOP_CUSTOM_AGENT_PASSWORD_FROM_TASK" help:"Send the stored password of each task or its host to the custom agent URL. Default: no password."`
	AgentLifetime   time.Duration  `env:"BELLHOP_AGENT_LIFETIME" default:"720h" placeholder:"DURATION" help:"Lifetime of inactive notebook connections (${default})."`
	TokenLife       time.Duration  `env:"BELLHOP_TOKEN_MAX_LIFETIME" default:"8760h" placeholder:"DURATION" help:"How long API tokens may live (${default}); 0 for tokens that need no expiry."`
	Quotas          quotaFlags     `embed:"" prefix:"quota-"`
	RememberedTasks int            `env:"BELLHOP_REMEMBERED_TASKS" default:"20000" placeholder:"N" help:"How many tasks' keys, tokens and last states are kept in memory (${default}); 0 for none."`
	Retention       retentionFlags `embed:""`
	Terminals       string         `env:"BELLHOP_TERMINALS" enum:"off,admins,all" default:"admins" help:"Who may open terminals in workspaces, on hosts that enable them (${enum}; ${default})."`
	AdminListen     string         `env:"BELLHOP_ADMIN_LISTEN" placeholder:"ADDR" help:"Address for metrics and profiles (pprof), such as :7710, which is on loopback. Default: none."`
	AdminToken      seal.Secret    `name:"admin-token-file" env:"BELLHOP_ADMIN_TOKEN" secret:"" placeholder:"FILE" help:"File with the token of requests to the admin address, at least 16 characters."`
	DefaultAgent    string         `env:"BELLHOP_DEFAULT_AGENT" placeholder:"ID" help:"Agent of tasks that name none. Default: the host chooses."`
}

// quotaFlags are the most that one user may have.
type quotaFlags struct {
	Tasks    uint      `env:"BELLHOP_QUOTA_TASKS" default:"0" help:"Tasks that a user may have; 0 for no limit."`
	Storage  quotaSize `env:"BELLHOP_QUOTA_STORAGE" default:"0" placeholder:"SIZE" help:"Size of the messages that a user's tasks may have, such as 5GiB; 0 for no limit."`
	Feeds    uint      `env:"BELLHOP_QUOTA_FEEDS" default:"0" help:"Feeds that a user may have open at each replica; 0 for no limit."`
	Streams  uint      `env:"BELLHOP_QUOTA_STREAMS" default:"0" help:"Streams that each replica relays to a user at the same time; 0 for no limit."`
	Requests uint      `env:"BELLHOP_QUOTA_REQUESTS" default:"0" help:"Requests that a user may send to each replica in a minute; 0 for no limit."`
}

// quotaSize is a flag such as 5GiB; an empty one is 0.
type quotaSize int64

// UnmarshalText implements encoding.TextUnmarshaler, which kong uses.
func (s *quotaSize) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = 0
		return nil
	}
	return (*diskSize)(s).UnmarshalText(text)
}

func (f *quotaFlags) limits() app.Quotas {
	return app.Quotas{
		QuotaLimits: broker.QuotaLimits{
			Tasks: int(f.Tasks), Storage: int64(f.Storage), Feeds: int(f.Feeds), Streams: int(f.Streams),
		},
		Requests: int(f.Requests),
	}
}

// Help is shown by --help.
func (serveCommand) Help() string {
	return `The broker signs users in, opens sessions on agent hosts, and stores the events that hosts post.
It migrates the database at its start. It needs a keyset:

  bellhop keys generate > keyset && chmod 600 keyset
  export BELLHOP_KEYSET_FILE=keyset BELLHOP_DATABASE_URL=sqlite:bellhop.db
  BELLHOP_USER_PASSWORD_FILE=password bellhop users add --email you@example.com --admin
  BELLHOP_HOST_PASSWORD_FILE=host-password bellhop hosts add --name local --url http://127.0.0.1:7701
  bellhop serve

Every variable that holds a secret can also be given as NAME_FILE, the path of a file with the value; /dev/stdin is the
standard input. Every program of the machine can read the arguments of a command, so give no secret there.`
}

// gcPercent is the broker's GOGC. Its live heap is small and most allocations are
// short-lived; with the default of 100, collections took a quarter of a webhook's CPU time.
const gcPercent = 400

// Run serves until the context ends.
func (c serveCommand) Run(env *environment) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	allow, err := parseCIDRs("BELLHOP_OUTBOUND_ALLOW", c.OutboundAllow)
	if err != nil {
		return err
	}
	retention, err := c.Retention.limits()
	if err != nil {
		return err
	}
	if c.RememberedTasks < 0 {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "BELLHOP_REMEMBERED_TASKS is negative",
			Hint: "set a number of tasks; 0 remembers none, and every request asks the database",
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	config := app.BrokerConfig{
		StoreConfig: c.config(env), Listen: c.Listen, PublicURL: c.PublicURL, WebhookURL: c.WebhookURL,
		AllowedOrigins: c.AllowedOrigins, StreamOrigins: c.StreamOrigins, TrustedProxies: c.TrustedProxies,
		OutboundAllow: allow, CustomAgentURL: c.CustomAgentURL, CustomPasswords: c.CustomPassword,
		DefaultAgent: c.DefaultAgent, AgentLifetime: c.AgentLifetime,
		VerifyWorker: verifyWorkerCommandLine(self), VerifyCache: verifyCache(),
		DiskWarning: int64(c.DiskWarning), Retention: retention, Remember: &c.RememberedTasks,
		TokenLife: c.TokenLife, Terminals: broker.ShellRights(c.Terminals), Quotas: c.Quotas.limits(),
		AdminListen: c.AdminListen, AdminToken: c.AdminToken,
	}
	return c.traced(env, "bellhop-broker", func(tracer *tracing.Tracer) error {
		config.Traces = tracer.Observer()
		opened, err := app.OpenBroker(env.ctx, config)
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		return opened.Run(env.ctx)
	})
}
