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

// shutdownLimit is how long a server may take to end after SIGTERM, so that
// the process is gone within 10 s (protocol section 5).
const shutdownLimit = 8 * time.Second

// server is a listener with the handler that answers on it.
type server struct {
	listener net.Listener
	http     *http.Server
	url      string // http://HOST:PORT
}

// listen binds an address; port 0 takes a free one.
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

func newServer(listener net.Listener, handler http.Handler, log *slog.Logger) *server {
	return &server{
		listener: listener,
		http:     httpapi.Server(handler, httpapi.ServerOptions{Log: log}),
		url:      localURL(listener.Addr()),
	}
}

// localURL is how this machine reaches a listener.
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

// run serves until ctx ends, then stops accepting and waits for what is under
// way, up to the limit.
func (s *server) run(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", s.url, err)
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
	defer cancel()
	err := s.http.Shutdown(limited)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	if served := <-failed; err == nil && !errors.Is(served, http.ErrServerClosed) {
		err = served
	}
	return err
}

// checkURL refuses a configured base URL that others could not use.
func checkURL(variable, raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", protocol.Errorf(protocol.CodeInvalid, "%s must be a plain http:// or https:// URL", variable)
	}
	return strings.TrimRight(raw, "/"), nil
}
