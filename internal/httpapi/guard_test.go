package httpapi_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
)

// at makes requests appear to arrive on a local address.
func at(local string, h http.Handler) http.Handler {
	addr := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(local))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(addr))))
	})
}

func TestGuardHostRefusesRebinding(t *testing.T) {
	t.Parallel()
	e, _ := newEcho()
	e.Use(httpapi.GuardHost("bellhop.example.com", ""))
	e.GET("/", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	cases := []struct {
		local, host string
		status      int
	}{
		{"127.0.0.1:7700", "127.0.0.1:7700", 200},
		{"127.0.0.1:7700", "localhost:7700", 200},
		{"127.0.0.1:7700", "LOCALHOST", 200},
		{"127.0.0.1:7700", "localhost.", 200},
		{"127.0.0.1:7700", "app.localhost:7700", 200},
		{"127.0.0.1:7700", "127.8.8.8", 200},
		{"[::1]:7700", "[::1]:7700", 200},
		{"[::ffff:127.0.0.1]:7700", "[::1]", 200},
		{"127.0.0.1:7700", "bellhop.example.com:443", 200},
		{"127.0.0.1:7700", "evil.example.com:7700", 403},
		{"127.0.0.1:7700", "127.0.0.1.evil.example.com", 403},
		{"127.0.0.1:7700", "localhost.evil.example.com", 403},
		{"[::1]:7700", "evil.example.com", 403},
		{"[::ffff:127.0.0.1]:7700", "evil.example.com", 403},
		{"127.0.0.1:7700", "10.0.0.1", 403},
		{"127.0.0.1:7700", "", 403},
		{"192.0.2.7:7700", "anything.example.com", 200},
	}
	for _, c := range cases {
		t.Run(c.local+" as "+c.host, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Host = c.host
			rec := httptest.NewRecorder()
			at(c.local, e).ServeHTTP(rec, r)
			if rec.Code != c.status {
				t.Fatalf("status %d", rec.Code)
			}
		})
	}
}

func TestGuardOriginOnLoopback(t *testing.T) {
	t.Parallel()
	e, _ := newEcho()
	e.Use(httpapi.GuardOrigin(app))
	e.GET("/", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	for origin, status := range map[string]int{
		"http://127.0.0.1:7700": 200, "http://localhost:5173": 200, "http://example.com": 200, app: 200,
		"https://evil.io": 403, "null": 403, "https://app.example.com.evil.io": 403, "http://localhost.evil.io": 403,
	} {
		if rec := call(at("127.0.0.1:7700", e), "GET", "/", "", "Origin", origin); rec.Code != status {
			t.Errorf("%q: %d, want %d", origin, rec.Code, status)
		}
	}
	if rec := call(at("127.0.0.1:7700", e), "GET", "/", ""); rec.Code != 200 {
		t.Errorf("no Origin: %d", rec.Code)
	}
	if rec := call(at("192.0.2.7:7700", e), "GET", "/", "", "Origin", "https://evil.io"); rec.Code != 200 {
		t.Errorf("off loopback CORS decides: %d", rec.Code)
	}
}

func TestGuardHostOnARealListener(t *testing.T) {
	t.Parallel()
	e, _ := newEcho()
	e.Use(httpapi.GuardHost())
	e.GET("/", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	server := startServer(t, e)
	for host, status := range map[string]int{"": 200, "evil.example.com": 403} {
		r, err := http.NewRequest(http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if readAnswer(t, resp); resp.StatusCode != status {
			t.Errorf("Host %q: %d", host, resp.StatusCode)
		}
	}
}

func TestNoStore(t *testing.T) {
	t.Parallel()
	e, _ := newEcho()
	e.GET("/", func(c echo.Context) error { return c.NoContent(http.StatusOK) }, httpapi.NoStore())
	header := call(e, "GET", "/", "").Header()
	for name, want := range map[string]string{
		"Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
