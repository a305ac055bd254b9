package app

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// A frontend's development server has an origin of its own. It calls the broker, then streams from the host.
func TestDevAllowsTheOriginsOfOtherFrontends(t *testing.T) {
	t.Parallel()
	const page, hostPage = "http://localhost:5173", "http://localhost:5174"
	dev, err := OpenDev(t.Context(), DevConfig{
		Data: t.TempDir(), Listen: "127.0.0.1:0", HostListen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler),
		AllowedOrigins: []string{page}, HostAllowedOrigins: []string{hostPage},
		Agent: "demo", DemoAgent: []string{"/bin/false"},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- dev.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	if port := dev.File.BrokerURL[len("http://127.0.0.1"):]; dev.Console != "http://bellhop.localhost"+port ||
		!strings.HasPrefix(dev.Link, dev.Console+"/#link=") {
		t.Errorf("browsers open %s by %s, programs %s", dev.Console, dev.Link, dev.File.BrokerURL)
	}
	for _, c := range []struct{ url, origin, want string }{
		{dev.File.BrokerURL + "/api/tasks", page, page},
		{dev.File.BrokerURL + "/api/tasks", hostPage, ""},
		{dev.File.HostURL + "/stream/x", page, page},
		{dev.File.HostURL + "/stream/x", hostPage, hostPage},
		{dev.File.HostURL + "/stream/x", dev.File.BrokerURL, dev.File.BrokerURL},
		{dev.File.HostURL + "/stream/x", dev.Console, dev.Console},
		{dev.File.HostURL + "/stream/x", "http://bellhop.localhost:1", ""},
	} {
		if got := allowedOrigin(t, c.url, c.origin); got != c.want {
			t.Errorf("%s for %s: %q", c.url, c.origin, got)
		}
	}
}

// allowedOrigin sends the preflight of a page and returns the origin that is allowed.
func allowedOrigin(t *testing.T, url, origin string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", origin)
	req.Header.Set("Access-Control-Request-Method", http.MethodPost)
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.Header.Get("Access-Control-Allow-Origin")
}
