//go:build linux

package torture

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"bellhop/internal/failpoint"
	"bellhop/internal/torture/check"
)

const (
	adminEmail    = "torture@example.com"
	adminPassword = "torture-user-password"
	hostPassword  = "torture-host-password"
	agentName     = "scripted"
)

// cluster is everything that runs in a round: two brokers on a pair of PostgreSQL servers, two
// hosts, and gateways on every link between them and their users.
type cluster struct {
	opts    Options
	dir     string
	db      *pair
	brokers []*server
	hosts   []*agentHost

	api      *gateway   // users → brokers
	webhook  *gateway   // hosts → brokers
	gateways []*gateway // all, those of the hosts included

	keyset string
	token  string // API token of the user

	mu       sync.Mutex
	receipts map[string][]check.Receipt // by session
}

// agentHost is a host with its data on a disk that can be full.
type agentHost struct {
	*server

	id       string // as registered
	disk     *disk
	toHost   *gateway // brokers → host
	toStream *gateway // users → host
	ledger   string   // written by its agents, outside the disk

	restores  int
	backup    string                   // the journal's copy, "" = none
	forgotten map[string][]check.Event // by session
	unsent    map[string][]check.Event
}

func (h *agentHost) journal() string { return filepath.Join(h.disk.dir, "journal.db") }

// startCluster starts everything. If it fails, what has started is stopped.
func startCluster(ctx context.Context, opts Options, dir string, seed uint64) (*cluster, error) {
	c := &cluster{opts: opts, dir: dir, receipts: map[string][]check.Receipt{}}
	if err := c.prepare(ctx, seed); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *cluster) prepare(ctx context.Context, seed uint64) error {
	var err error
	if c.db, err = startPair(ctx); err != nil {
		return err
	}
	if err := c.secrets(ctx); err != nil {
		return err
	}
	if err := c.addBrokers(ctx, seed); err != nil {
		return err
	}
	for i := range 2 {
		if err := c.addHost(ctx, fmt.Sprintf("host-%d", i+1), seed+uint64(i)); err != nil {
			return err
		}
	}
	for _, s := range c.servers() {
		if err := s.start(); err != nil {
			return err
		}
	}
	return c.ready(ctx)
}

// secrets makes what an operator makes before the first start.
func (c *cluster) secrets(ctx context.Context) error {
	keyset, err := c.command(ctx, "keys", "generate")
	if err != nil {
		return err
	}
	c.keyset = filepath.Join(c.dir, "keyset")
	if err := os.WriteFile(c.keyset, []byte(keyset), 0o600); err != nil {
		return err
	}
	if _, err := c.command(ctx, "users", "add", "--email", adminEmail, "--admin"); err != nil {
		return err
	}
	token, err := c.command(ctx, "tokens", "create", "--email", adminEmail, "--name", "torture")
	c.token = strings.TrimSpace(token)
	return err
}

// command runs an administrative command on the broker's database.
func (c *cluster) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.opts.brokerBinary(), args...) //nolint:gosec // our own binary
	cmd.Env = append(baseEnv(), "BELLHOP_DATABASE_URL="+c.db.url(),
		"BELLHOP_USER_PASSWORD="+adminPassword, "BELLHOP_HOST_PASSWORD="+hostPassword)
	if c.keyset != "" {
		cmd.Env = append(cmd.Env, "BELLHOP_KEYSET_FILE="+c.keyset)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("bellhop %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}

func (c *cluster) addBrokers(ctx context.Context, seed uint64) error {
	var addrs, urls []string
	for range 2 {
		addr, err := freeAddr(ctx)
		if err != nil {
			return err
		}
		addrs, urls = append(addrs, addr), append(urls, "http://"+addr)
	}
	var err error
	if c.api, err = c.gateway(ctx, "users to brokers", seed+11, urls...); err != nil {
		return err
	}
	if c.webhook, err = c.gateway(ctx, "hosts to brokers", seed+12, urls...); err != nil {
		return err
	}
	c.webhook.onPair, c.webhook.before = c.receipt, c.db.restored.Load
	for i, addr := range addrs {
		env := []string{
			"BELLHOP_DATABASE_URL=" + c.db.url(), "BELLHOP_KEYSET_FILE=" + c.keyset,
			"BELLHOP_LISTEN=" + addr, "BELLHOP_WEBHOOK_URL=" + c.webhook.url(),
		}
		if c.opts.Profile.Clocks > 0 { // a clock in the future must remove nothing
			env = append(env, "BELLHOP_EVENT_RETENTION=24h", "BELLHOP_ARCHIVE_RETENTION=24h")
		}
		broker, err := c.server(fmt.Sprintf("broker-%d", i+1), addr, []string{c.opts.brokerBinary(), "serve"}, env...)
		if err != nil {
			return err
		}
		c.brokers = append(c.brokers, broker)
	}
	return nil
}

func (c *cluster) gateway(ctx context.Context, name string, seed uint64, targets ...string) (*gateway, error) {
	g, err := newGateway(ctx, name, seed, targets...)
	if err == nil {
		c.gateways = append(c.gateways, g)
	}
	return g, err
}

func (c *cluster) server(name, addr string, args []string, env ...string) (*server, error) {
	log, err := os.OpenFile(filepath.Join(c.dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if c.opts.Mutant != "" {
		env = append(env, failpoint.MutantEnv+"="+c.opts.Mutant)
	}
	return &server{name: name, url: "http://" + addr, args: args, next: c.opts.restartBinary(), env: env, log: log}, nil
}

func (c *cluster) addHost(ctx context.Context, name string, seed uint64) error {
	addr, err := freeAddr(ctx)
	if err != nil {
		return err
	}
	h := &agentHost{
		ledger: filepath.Join(c.dir, name+".ledger"), forgotten: map[string][]check.Event{},
		unsent: map[string][]check.Event{},
	}
	c.hosts = append(c.hosts, h)
	if h.disk, err = newDisk(ctx, filepath.Join(c.dir, name), c.opts.Profile.PowerCuts > 0); err != nil {
		return err
	}
	if h.toHost, err = c.gateway(ctx, "brokers to "+name, seed+21, "http://"+addr); err != nil {
		return err
	}
	if h.toStream, err = c.gateway(ctx, "users to "+name, seed+31, "http://"+addr); err != nil {
		return err
	}
	config, err := c.hostConfig(name, h.ledger)
	if err != nil {
		return err
	}
	h.server, err = c.server(name, addr, []string{c.opts.hostBinary(), "host"},
		"BELLHOP_HOST_LISTEN="+addr, "BELLHOP_HOST_PUBLIC_URL="+h.toStream.url(), "BELLHOP_HOST_PASSWORD="+hostPassword,
		"BELLHOP_HOST_DATA="+h.disk.dir, "BELLHOP_HOST_CONFIG="+config,
		// The agent writes a ledger beside its workspace.
		"BELLHOP_HOST_NO_SANDBOX=true")
	if err != nil {
		return err
	}
	id, err := c.command(ctx, "hosts", "add", "--name", name, "--url", h.toHost.url())
	h.id = strings.TrimSpace(id)
	return err
}

// hostConfig writes a host's configuration; JSON is YAML, too.
func (c *cluster) hostConfig(name, ledger string) (string, error) {
	config, err := json.Marshal(map[string]any{
		"agents": map[string]any{
			agentName: map[string]any{
				"kind": "jsonl", "command": []string{c.opts.Binary, "torture", "agent", "--ledger", ledger},
			},
		},
		"default": agentName,
	})
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.dir, name+".yaml")
	return path, os.WriteFile(path, config, 0o600)
}

func (c *cluster) servers() []*server {
	all := append([]*server{}, c.brokers...)
	for _, h := range c.hosts {
		all = append(all, h.server)
	}
	return all
}

func (c *cluster) ready(ctx context.Context) error {
	for _, s := range c.servers() {
		if err := s.ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// close ends everything that the cluster has started.
func (c *cluster) close() error {
	var err error
	for _, s := range c.servers() {
		if s != nil {
			err = errors.Join(err, s.kill(), s.crashed(), s.log.Close())
		}
	}
	for _, g := range c.gateways {
		err = errors.Join(err, g.close())
	}
	for _, h := range c.hosts {
		if h.disk != nil {
			err = errors.Join(err, h.disk.close())
		}
	}
	if c.db != nil {
		err = errors.Join(err, c.db.close())
	}
	return err
}

// receipt records what a broker answered to a host's events.
func (c *cluster) receipt(x exchange) {
	var request struct {
		SessionID string `json:"sessionId"`
		Events    []struct {
			EventID    string `json:"eventId"`
			Epoch, Seq int64
		} `json:"events"`
		EventID    string `json:"eventId"`
		Epoch, Seq int64
	}
	var reply struct {
		Accepted, Duplicates int
		Cursor               check.Cursor
	}
	if json.Unmarshal(x.body, &request) != nil || request.SessionID == "" {
		return // a renewal of a token
	}
	r := check.Receipt{Status: x.status}
	if x.status == 200 && json.Unmarshal(x.answer, &reply) == nil {
		r.Accepted, r.Duplicates, r.Cursor = reply.Accepted, reply.Duplicates, reply.Cursor
	}
	for _, e := range request.Events {
		r.Events, r.Last = append(r.Events, e.EventID), check.Cursor{Epoch: e.Epoch, Seq: e.Seq}
	}
	if len(request.Events) == 0 {
		r.Events, r.Last = []string{request.EventID}, check.Cursor{Epoch: request.Epoch, Seq: request.Seq}
	}
	if r.Status == 200 {
		r.Missing, r.LookedUp = c.db.missing(request.SessionID, r.Events, x.before)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.receipts[request.SessionID] = append(c.receipts[request.SessionID], r)
}
