package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"bellhop/internal/app"
)

type serveCommand struct {
	brokerFlags `embed:""`

	TrustedProxies []string      `env:"BELLHOP_TRUSTED_PROXIES" placeholder:"CIDR" help:"Proxies in front of the broker, comma-separated addresses or CIDRs; their X-Forwarded-For and X-Forwarded-Host are believed."`
	OutboundAllow  []string      `env:"BELLHOP_OUTBOUND_ALLOW" placeholder:"CIDR" help:"Private addresses that users' agent URLs may name."`
	CustomAgentURL string        `env:"BELLHOP_CUSTOM_AGENT_URL,CUSTOM_GOOSE_URL" placeholder:"URL" help:"Overrides every task's agent URL, for local development."`
	CustomPassword bool          `name:"custom-agent-password-from-task" env:"BELLHOP_CUSTOM_AGENT_PASSWORD_FROM_TASK" help:"Send the stored password of each task or its host to the custom agent URL. Default: no password."`
	AgentLifetime  time.Duration `env:"BELLHOP_AGENT_LIFETIME" default:"720h" placeholder:"DURATION" help:"Lifetime of inactive notebook connections (${default})."`
	DefaultAgent   string        `env:"BELLHOP_DEFAULT_AGENT" placeholder:"ID" help:"Agent of tasks that name none. Default: the host chooses."`
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
	self, err := os.Executable()
	if err != nil {
		return err
	}
	broker, err := app.OpenBroker(env.ctx, app.BrokerConfig{
		StoreConfig: c.config(env), Listen: c.Listen, PublicURL: c.PublicURL, WebhookURL: c.WebhookURL,
		AllowedOrigins: c.AllowedOrigins, TrustedProxies: c.TrustedProxies, OutboundAllow: allow,
		CustomAgentURL: c.CustomAgentURL, CustomPasswords: c.CustomPassword, DefaultAgent: c.DefaultAgent,
		AgentLifetime: c.AgentLifetime, VerifyWorker: verifyWorkerCommandLine(self), VerifyCache: verifyCache(),
		Version: version, DiskWarning: int64(c.DiskWarning),
	})
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return broker.Run(env.ctx)
}
