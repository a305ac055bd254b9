package egress

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"time"

	"bellhop/internal/netguard"
)

// Client is what the programs behind a connection may reach.
type Client struct {
	Name   string // for the log and for people
	Rules  Rules
	Routes []Route
}

// Options configure a Server. Client is required.
type Options struct {
	// Client returns the client that a connection's first line names. Its error ends the
	// connection.
	Client func(line string) (Client, error)

	// Ask is called for a name that no rule lists, NAME:PORT, until ctx ends. If it returns true, the
	// request goes to a public address of that name. nil = unlisted names are refused.
	Ask func(ctx context.Context, line, target string) bool

	// Refused is called for each request that was refused; nil = no call.
	Refused func(line, target string)

	Log *slog.Logger // nil = none
}

// Server is the proxy and the gateway. Make it with New.
type Server struct {
	options Options
	http    *http.Server
	models  *http.Transport // of the gateway
}

// Limits of the proxy's own part of a connection. A tunnel and an answer have none: a model
// may think for long.
const (
	maxLine       = 4 << 10
	lineTimeout   = 5 * time.Second
	headerTimeout = 30 * time.Second
	idleTimeout   = 2 * time.Minute
)

// New returns a server that does not listen yet.
func New(options Options) *Server {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Refused == nil {
		options.Refused = func(string, string) {}
	}
	s := &Server{options: options, models: newTransport((&net.Dialer{Timeout: dialTimeout}).DialContext)}
	s.models.Proxy = http.ProxyFromEnvironment // the operator chose the address of the model
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(options.Log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	return s
}

func newTransport(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext: dial, TLSHandshakeTimeout: dialTimeout, IdleConnTimeout: idleTimeout, MaxIdleConnsPerHost: 4,
		DisableCompression: true, ForceAttemptHTTP2: true,
	}
}

// Serve serves the connections of a listener until Close. It returns nil then.
func (s *Server) Serve(listener net.Listener) error {
	if err := s.http.Serve(lineListener{listener}); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close ends the listeners and connections. Tunnels end with their connections.
func (s *Server) Close() error {
	s.models.CloseIdleConnections()
	return s.http.Close()
}

type connKey struct{}

var errNoLine = errors.New("the connection has no first line")

// lineListener reads the first line of each connection, at its first read.
type lineListener struct{ net.Listener }

func (l lineListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lineConn{Conn: conn, reader: bufio.NewReaderSize(conn, maxLine)}, nil
}

// lineConn is a connection whose first line is no part of its content. The server reads it from
// one goroutine at a time.
type lineConn struct {
	net.Conn

	reader *bufio.Reader
	line   string
	read   bool
	err    error
}

// Read implements net.Conn.
func (c *lineConn) Read(p []byte) (int, error) {
	if !c.read {
		c.read = true
		_ = c.SetReadDeadline(time.Now().Add(lineTimeout))
		line, err := c.reader.ReadSlice('\n')
		_ = c.SetReadDeadline(time.Now().Add(headerTimeout))
		if err != nil {
			c.err = errNoLine // not the reader's own error: one of them would make net/http read forever
			return 0, c.err
		}
		c.line = string(line[:len(line)-1])
	}
	if c.err != nil {
		return 0, c.err
	}
	return c.reader.Read(p)
}

// CloseWrite ends the content that this side sends.
func (c *lineConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// serve handles every request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	conn, ok := r.Context().Value(connKey{}).(*lineConn)
	if !ok {
		http.Error(w, "Bellhop: no client", http.StatusInternalServerError)
		return
	}
	client, err := s.options.Client(conn.line)
	if err != nil {
		s.options.Log.WarnContext(r.Context(), "an unknown program asked for the network", "err", err)
		http.Error(w, "Bellhop: unknown client", http.StatusForbidden)
		return
	}
	// An answer may begin while the request is still sent. By default net/http then closes the
	// request's body, and the transport that reads it breaks the answer off.
	_ = http.NewResponseController(w).EnableFullDuplex()
	switch {
	case r.Method == http.MethodConnect:
		client.Rules = s.withAsked(r.Context(), client.Rules, conn.line, r.Host)
		s.tunnel(w, r, client)
	case r.URL.IsAbs() && r.URL.Scheme == "http":
		client.Rules = s.withAsked(r.Context(), client.Rules, conn.line, targetOf(r.URL))
		s.plain(w, r, client)
	case r.URL.IsAbs():
		http.Error(w, "Bellhop: the proxy takes http and CONNECT only", http.StatusBadRequest)
	default:
		s.serveRoute(w, r, client)
	}
}

// withAsked returns the rules, with an unlisted target if a person allows it.
func (s *Server) withAsked(ctx context.Context, rules Rules, line, target string) Rules {
	asked, ok := rules.asked(target)
	if ok && s.options.Ask != nil && s.options.Ask(ctx, line, asked.target()) {
		return Rules{names: append(slices.Clone(rules.names), asked), prefixes: rules.prefixes}
	}
	return rules
}

// plain forwards a request over plain HTTP. Its target is that of the request line; a Host
// header with another name has no effect.
func (s *Server) plain(w http.ResponseWriter, r *http.Request, client Client) {
	target := targetOf(r.URL)
	transport := newTransport(client.Rules.dial)
	transport.DisableKeepAlives = true // the next request may have another target
	var refused error
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ErrorLog: s.http.ErrorLog,
		Rewrite: func(p *httputil.ProxyRequest) { p.Out.Host = p.In.URL.Host },
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if errors.Is(err, netguard.ErrRefused) {
				refused = err
				s.refuse(w, r, client, target)
				return
			}
			s.fail(w, r, err)
		},
	}
	proxy.ServeHTTP(w, r)
	if refused == nil {
		s.options.Log.DebugContext(r.Context(), "a program used the network", "client", client.Name, "target", target)
	}
}

func targetOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// refuse answers a request whose target is not allowed, and reports it.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, client Client, target string) {
	conn := r.Context().Value(connKey{}).(*lineConn)
	s.options.Log.WarnContext(r.Context(), "the network refused a program", "client", client.Name, "target", target)
	s.options.Refused(conn.line, target)
	http.Error(w, "Bellhop: "+target+" is not allowed. The operator lists what agents may reach under sandbox.allow.",
		http.StatusForbidden)
}
