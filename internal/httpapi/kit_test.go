package httpapi_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/labstack/echo/v4"
	"go.uber.org/goleak"

	"bellhop/internal/httpapi"
	"bellhop/internal/requestid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logged collects log lines.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newEcho() (*echo.Echo, *logged) {
	out := new(logged)
	log := slog.New(requestid.LogHandler(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	return httpapi.New(httpapi.Options{Log: log}), out
}

// call sends a request; header is name, value, name, value …
func call(h http.Handler, method, target, body string, header ...string) *httptest.ResponseRecorder {
	var r *http.Request
	if body == "" {
		r = httptest.NewRequest(method, target, nil)
	} else {
		r = httptest.NewRequest(method, target, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

func requireAnswer(t *testing.T, rec *httptest.ResponseRecorder, status int, body string) {
	t.Helper()
	if rec.Code != status || rec.Body.String() != body {
		t.Fatalf("got %d %s\nwant %d %s", rec.Code, rec.Body, status, body)
	}
}

// startServer runs h behind the limits of Server on a loopback port.
func startServer(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config = httpapi.Server(h, httpapi.ServerOptions{})
	server.Start()
	t.Cleanup(func() {
		server.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return server
}

func readAnswer(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
