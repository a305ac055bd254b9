package e2e

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/broker"
	"bellhop/client"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/internal/app/agents"
	"bellhop/protocol"
)

// running is a broker in this process, for tests that need its clock or its internals.
type running struct {
	*app.Broker
	user  *broker.User
	token string
}

func newKeyset(t testing.TB) seal.Secret {
	t.Helper()
	keyset, err := seal.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return seal.NewSecret(keyset)
}

// runBroker starts a broker as `bellhop serve` does, until the test ends.
func runBroker(t testing.TB, c app.BrokerConfig) *app.Broker {
	t.Helper()
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	c.Log = slog.New(slog.DiscardHandler)
	b, err := app.OpenBroker(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	runUntilEnd(t, b.Run)
	return b
}

// withUser adds a user and an API token.
func withUser(t testing.TB, b *app.Broker) *running {
	t.Helper()
	user, err := b.Auth.CreateUser(t.Context(), userEmail, userPassword, true)
	if err != nil {
		t.Fatal(err)
	}
	token, err := b.Auth.CreateToken(t.Context(), &broker.APIToken{UserID: user.ID, Name: "e2e", Kind: broker.TokenUser})
	if err != nil {
		t.Fatal(err)
	}
	return &running{Broker: b, user: user, token: token}
}

func (r *running) client() *client.Client { return client.New(r.URL, patient(r.token, transport)) }

// task opens a task on an agent URL.
func (r *running) task(t testing.TB, agentURL, agent string) string {
	t.Helper()
	task, err := r.client().CreateTask(t.Context(), &protocol.CreateTaskRequest{
		Title: "in process", AgentURL: agentURL, AgentPassword: hostPassword, Agent: agent,
	})
	if err != nil {
		t.Fatal(err)
	}
	return task.ID
}

// runHost starts an agent host whose only agent is fake.
func runHost(t testing.TB, fake *providertest.Fake) *app.Host {
	t.Helper()
	h, err := app.OpenHost(app.HostConfig{
		Listen: "127.0.0.1:0", Password: seal.NewSecret(hostPassword), Data: t.TempDir(),
		Providers: map[string]agenthost.Provider{agents.Demo: fake}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	runUntilEnd(t, h.Run)
	return h
}

func runUntilEnd(t testing.TB, run func(context.Context) error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// passage is a reverse proxy that records requests and responses.
type passage struct {
	URL string

	mu      sync.Mutex
	seen    []passed
	blocked bool
}

type passed struct {
	path   string
	status int
}

func newPassage(t testing.TB) (p *passage, to func(target string)) {
	t.Helper()
	p = &passage{}
	var target *url.URL
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(resp *http.Response) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.seen = append(p.seen, passed{resp.Request.URL.Path, resp.StatusCode})
			return nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.refuses(r.URL.Path) {
			http.Error(w, "blocked", http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p, func(raw string) {
		var err error
		if target, err = url.Parse(raw); err != nil {
			t.Fatal(err)
		}
	}
}

// block refuses requests with 503, as a gateway does.
func (p *passage) block(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blocked = on
}

func (p *passage) refuses(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.blocked {
		p.seen = append(p.seen, passed{path, http.StatusServiceUnavailable})
	}
	return p.blocked
}

func (p *passage) log() []passed {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]passed(nil), p.seen...)
}
