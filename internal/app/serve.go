package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// shutdownTimeout bounds the shutdown of a server, so that the process exits
// within 10 s after SIGTERM (protocol section 5).
const shutdownTimeout = 8 * time.Second

// server is a bound listener with its HTTP server.
type server struct {
	listener net.Listener
	second   net.Listener // of listenForBrowsers; nil: there is none
	http     *http.Server
	streams  httpapi.Streams // that continue without their handler
	url      string          // http://HOST:PORT
}

// listen binds an address; port 0 chooses a free one. Errors name the variable.
func listen(variable, address string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "cannot listen on " + address,
			Hint: "Choose another address with " + variable + ".", Err: err,
		}
	}
	return listener, nil
}

// newServer serves on a listener, which it keeps a file descriptor in reserve for.
func newServer(listener net.Listener, handler http.Handler, log *slog.Logger) *server {
	return &server{
		listener: httpapi.ReserveDescriptor(listener, log),
		http:     httpapi.Server(handler, httpapi.ServerOptions{Log: log}),
		url:      localURL(listener.Addr()),
	}
}

// localURL returns a URL at which this machine reaches a listener.
func localURL(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "http://" + addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// close releases the listeners of a server that was not started. A nil server has none.
func (s *server) close() error {
	if s == nil {
		return nil
	}
	return errors.Join(s.listener.Close(), closeListener(s.second))
}

// closeListener closes a listener. A nil listener is closed.
func closeListener(listener net.Listener) error {
	if listener == nil {
		return nil
	}
	return listener.Close()
}

// serve answers requests until ctx ends. Then it stops accepting and waits up to
// shutdownTimeout for open requests.
func (s *server) serve(ctx context.Context) error {
	ended := make(chan error, 2)
	serving := s.start(ended)
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", s.url, err)
	case <-ctx.Done():
	}
	shutdownCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := s.http.Shutdown(shutdownCtx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	s.streams.Shutdown(shutdownCtx)
	for range serving {
		if serveErr := <-ended; err == nil && !errors.Is(serveErr, http.ErrServerClosed) {
			err = serveErr
		}
	}
	return err
}

// start serves the listeners and returns their number. The end of each is sent to ended.
func (s *server) start(ended chan<- error) (serving int) {
	for _, listener := range []net.Listener{s.listener, s.second} {
		if listener != nil {
			go func() { ended <- s.http.Serve(listener) }()
			serving++
		}
	}
	return serving
}

// checkURL refuses a base URL that has a query, a fragment or user information, or
// is not http or https. It removes trailing slashes.
func checkURL(variable, raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" ||
		u.User != nil {
		return "", protocol.Errorf(protocol.CodeInvalid, "%s must be a plain http:// or https:// URL", variable)
	}
	return strings.TrimRight(raw, "/"), nil
}
