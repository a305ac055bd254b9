package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"

	"bellhop/broker"
	"bellhop/client"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/protocol"
)

const hostPassword = "a password of the benchmark"

// loopback is where the receivers of outbound webhooks are.
var loopback = netip.MustParsePrefix("127.0.0.0/8")

// brokerProcess is `bellhop serve` on a database with one user and one host.
type brokerProcess struct {
	*child
	in     io.WriteCloser // of the role; nil for the real binary
	url    string
	token  string
	userID string
	hostID string
	sealer *seal.Sealer
}

// startBroker prepares the database and serves it.
func (b *bench) startBroker(ctx context.Context, databaseURL, hostURL string) (*brokerProcess, error) {
	keyset, err := seal.Generate()
	if err != nil {
		return nil, err
	}
	p := &brokerProcess{}
	if p.sealer, err = seal.Parse(keyset); err != nil {
		return nil, err
	}
	if err := p.prepare(ctx, app.StoreConfig{
		DatabaseURL: seal.NewSecret(databaseURL), Keyset: seal.NewSecret(keyset), Log: slog.New(slog.DiscardHandler),
	}, hostURL); err != nil {
		return nil, fmt.Errorf("prepare the broker's database: %w", err)
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	p.url = "http://" + address
	env := []string{
		"BELLHOP_LISTEN=" + address, "BELLHOP_DATABASE_URL=" + databaseURL, "BELLHOP_KEYSET=" + keyset, "BELLHOP_LOG_LEVEL=warn",
		"BELLHOP_OUTBOUND_ALLOW=" + loopback.String(),
	}
	if err := p.start(b, env); err != nil {
		return nil, err
	}
	if err := p.ready(ctx, p.url); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

func (p *brokerProcess) prepare(ctx context.Context, c app.StoreConfig, hostURL string) error {
	admin, err := app.OpenAdmin(ctx, c)
	if err != nil {
		return err
	}
	defer admin.Close()
	user, err := admin.Auth.CreateUser(ctx, "bench@example.com", "a password of the benchmark", true)
	if err != nil {
		return err
	}
	p.userID = user.ID
	p.token, err = admin.Auth.CreateToken(ctx, &broker.APIToken{UserID: user.ID, Name: "bench", Kind: broker.TokenUser})
	if err != nil {
		return err
	}
	host, err := admin.Hosts.Create(ctx, broker.Caller{UserID: user.ID, Admin: true},
		&broker.HostRequest{Name: "bench", URL: hostURL, Password: hostPassword})
	if err != nil {
		return err
	}
	p.hostID = host.ID
	return nil
}

func (p *brokerProcess) start(b *bench, env []string) (err error) {
	if b.bellhop != "" {
		p.child, err = startChild(b.bellhop, []string{"serve"}, env, nil, nil)
		return err
	}
	stdin, in, err := os.Pipe()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p.in = in
	p.child, err = startChild(self, nil, append(env, roleVariable+"=broker", profileVariable+"="+b.profile), stdin, nil)
	return errors.Join(err, stdin.Close())
}

func (p *brokerProcess) stop() error {
	if p.in != nil {
		return errors.Join(p.in.Close(), p.wait())
	}
	return p.terminate()
}

func (p *brokerProcess) client() *client.Client {
	return client.New(p.url, client.Options{Token: p.token})
}

// tasks creates n tasks, several at a time.
func (p *brokerProcess) tasks(ctx context.Context, n int) ([]string, error) {
	c := p.client()
	defer c.CloseIdleConnections()
	ids := make([]string, n)
	return ids, together(ctx, n, 8, func(ctx context.Context, i int) error {
		task, err := c.CreateTask(ctx, &protocol.CreateTaskRequest{Title: fmt.Sprintf("task %d", i), HostID: p.hostID})
		if err == nil {
			ids[i] = task.ID
		}
		return err
	})
}

// profileVariable names the folder for CPU profiles.
const profileVariable = "BELLHOP_BENCH_PROFILE"

// playBroker is `bellhop serve` without the binary; it ends with stdin.
func playBroker(ctx context.Context, stdin io.Reader) error {
	debug.SetGCPercent(400) // as the binary does
	stopProfile, err := startProfile("broker")
	if err != nil {
		return err
	}
	defer stopProfile()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	b, err := app.OpenBroker(ctx, app.BrokerConfig{
		StoreConfig: app.StoreConfig{
			DatabaseURL: seal.NewSecret(os.Getenv("BELLHOP_DATABASE_URL")), Keyset: seal.NewSecret(os.Getenv("BELLHOP_KEYSET")), Log: log,
		},
		Listen: os.Getenv("BELLHOP_LISTEN"), OutboundAllow: []netip.Prefix{loopback},
	})
	if err != nil {
		return err
	}
	return b.Run(untilEOF(ctx, stdin))
}

// untilEOF is a context that ends with a reader.
func untilEOF(ctx context.Context, r io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, r)
		cancel()
	}()
	return ctx
}

func startProfile(name string) (stop func(), err error) {
	dir := os.Getenv(profileVariable)
	if dir == "" {
		return func() {}, nil
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s-%d.pprof", name, os.Getpid())))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}, nil
}

// heapProfile writes what is in use now; the last one stays.
func heapProfile() error {
	dir := os.Getenv(profileVariable)
	if dir == "" {
		return nil
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("heap-%d.pprof", os.Getpid())))
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("heap").WriteTo(f, 0), f.Close())
}

// decode reads what an order came with.
func decode[T any](raw json.RawMessage) (v T, err error) {
	err = json.Unmarshal(raw, &v)
	return v, err
}
