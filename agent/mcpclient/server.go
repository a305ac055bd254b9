package mcpclient

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/agent"
	"bellhop/internal/process"
	"bellhop/protocol"
)

// startTime bounds the start of a server: the connection and the list of its tools.
const startTime = 30 * time.Second

// maxLine bounds one message of a server on stdio.
const maxLine = 16 << 20

// Options are common to the servers of one session.
type Options struct {
	Dir     string // the session's working directory
	Version string // the agent's version, sent to servers
	Log     *slog.Logger
}

// Servers are the connected servers of one session.
type Servers struct {
	log   *slog.Logger
	list  []*server
	tools []agent.Tool
}

type server struct {
	name    string
	client  *http.Client     // nil on stdio
	process *process.Process // nil on HTTP
	session *mcp.ClientSession
	tools   []*mcp.Tool
}

// Connect starts or connects all servers. If one fails, all are closed: the user expects the
// tools of all of them.
func Connect(ctx context.Context, config Config, o Options) (*Servers, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	all := &Servers{log: o.Log}
	var mu sync.Mutex
	var failed error
	var group sync.WaitGroup
	for name, c := range config.Servers {
		group.Go(func() {
			s, err := connect(ctx, name, c, o)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = err
				return
			}
			all.list = append(all.list, s)
		})
	}
	group.Wait()
	if failed != nil {
		all.Close()
		return nil, failed
	}
	slices.SortFunc(all.list, func(a, b *server) int { return strings.Compare(a.name, b.name) })
	all.tools = offer(all.list)
	return all, nil
}

// Tools returns the tools that the servers listed when they were connected.
func (s *Servers) Tools() []agent.Tool { return s.tools }

// Close stops the servers and returns when they have ended.
func (s *Servers) Close() {
	var group sync.WaitGroup
	for _, one := range s.list {
		group.Go(func() {
			if err := one.close(); err != nil {
				s.log.Warn("MCP server did not end well", "server", one.name, "error", err)
			}
		})
	}
	group.Wait()
}

func connect(ctx context.Context, name string, c Server, o Options) (*server, error) {
	s := &server{name: name}
	transport, err := s.transport(c, o)
	if err != nil {
		return nil, s.failure("could not be started", err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "bellhop", Version: cmp.Or(o.Version, "dev")},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}) // only tools
	s.session, err = client.Connect(ctx, transport, nil)
	if err != nil {
		_ = s.close()
		return nil, s.failure("does not answer", err)
	}
	for tool, err := range s.session.Tools(ctx, nil) {
		if err != nil {
			_ = s.close()
			return nil, s.failure("does not list its tools", err)
		}
		s.tools = append(s.tools, tool)
	}
	return s, nil
}

// failure returns an error without the server's URL and headers.
func (s *server) failure(what string, err error) error {
	hint := "Check its entry in the MCP configuration"
	if s.process != nil {
		if tail := s.process.Tail(); len(tail) > 0 {
			hint += "; its last output: " + protocol.SanitizeText(tail[len(tail)-1])
		}
	}
	return &protocol.Error{
		Code: protocol.CodeBadGateway, Message: fmt.Sprintf("The MCP server %s %s", s.name, what), Hint: hint, Err: err,
	}
}

func (s *server) transport(c Server, o Options) (mcp.Transport, error) {
	if c.URL != "" {
		s.client = &http.Client{
			Transport:     &headers{next: http.DefaultTransport.(*http.Transport).Clone(), add: c.Headers},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		// A separate stream would only carry notifications, which this client ignores.
		return &mcp.StreamableClientTransport{Endpoint: c.URL, HTTPClient: s.client, DisableStandaloneSSE: true}, nil
	}
	var err error
	s.process, err = process.Start(process.Command{
		Args: append([]string{c.Command}, c.Args...), Dir: o.Dir, Env: environment(o.Dir, c.Env),
	})
	if err != nil {
		return nil, err
	}
	return &mcp.IOTransport{Reader: s.process.Stdout(), Writer: s.process.Stdin(), MaxLineLength: maxLine}, nil
}

// environment returns the usual variables, then the configured ones.
func environment(dir string, more map[string]string) []string {
	env := []string{"PWD=" + dir, "LANG=C.UTF-8"}
	for _, name := range []string{"PATH", "HOME", "USER", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range more {
		env = append(env, name+"="+value)
	}
	return env
}

// closeTime is how long a server may take to exit after its stdin was closed.
const closeTime = 2 * time.Second

func (s *server) close() error {
	var err error
	if s.process != nil {
		_ = s.process.Stdin().Close() // asks the server to exit
		timer := time.NewTimer(closeTime)
		defer timer.Stop()
		select {
		case <-s.process.Done():
		case <-timer.C:
			err = s.process.Kill()
		}
	}
	if s.session != nil {
		closed := s.session.Close()
		if s.process == nil {
			err = closed
		}
	}
	if s.client != nil {
		s.client.CloseIdleConnections()
	}
	return err
}

// headers adds the configured headers to each request.
type headers struct {
	next *http.Transport
	add  map[string]string
}

// RoundTrip implements http.RoundTripper.
func (h *headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h.add {
		r.Header.Set(name, value)
	}
	return h.next.RoundTrip(r)
}

// CloseIdleConnections is called by http.Client.
func (h *headers) CloseIdleConnections() { h.next.CloseIdleConnections() }
