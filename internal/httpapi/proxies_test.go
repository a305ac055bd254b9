package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
)

// proxies parses a list that must be valid.
func proxies(t *testing.T, list ...string) []netip.Prefix {
	t.Helper()
	parsed, err := httpapi.ParseProxies("PROXIES", list)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestTrustedProxiesAreAddressesAndCIDRs(t *testing.T) {
	t.Parallel()
	got := proxies(t, " 127.0.0.1", "10.1.2.3/8", "", "::1", "::ffff:192.0.2.1", "fd00::/8")
	want := "[127.0.0.1/32 10.0.0.0/8 ::1/128 192.0.2.1/32 fd00::/8]"
	if text := strings.Join(strings.Fields(prefixes(got)), " "); text != want {
		t.Errorf("got %s", text)
	}
	for _, wrong := range []string{
		"proxy.example.com", "*", "0.0.0.0/0", "::/0", "10.0.0.0/33", "fe80::1%eth0", "10.0.0.1:80",
	} {
		_, err := httpapi.ParseProxies("PROXIES", []string{wrong})
		if err == nil || !strings.Contains(err.Error(), "PROXIES") || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func prefixes(list []netip.Prefix) string {
	all := make([]string, len(list))
	for i, p := range list {
		all[i] = p.String()
	}
	return "[" + strings.Join(all, " ") + "]"
}

func TestOnlyATrustedProxyNamesTheClient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, peer, forwarded string
		trusted               []string
		want                  string
	}{
		{"no proxy is trusted", "127.0.0.1:1", "192.0.2.9", nil, "127.0.0.1"},
		{"another peer cannot choose", "198.51.100.7:1", "192.0.2.9", []string{"127.0.0.1"}, "198.51.100.7"},
		{"the proxy's client", "127.0.0.1:1", "192.0.2.9", []string{"127.0.0.1"}, "192.0.2.9"},
		{
			"an address that the client itself sent does not count", "127.0.0.1:1", "1.1.1.1, 192.0.2.9",
			[]string{"127.0.0.1"},
			"192.0.2.9",
		},
		{"two proxies", "127.0.0.1:1", "1.1.1.1, 192.0.2.9, 10.0.0.3", []string{"127.0.0.1", "10.0.0.0/8"}, "192.0.2.9"},
		{
			"private networks are not trusted by themselves", "127.0.0.1:1", "192.0.2.9, 10.0.0.3",
			[]string{"127.0.0.1"},
			"10.0.0.3",
		},
		{"no header", "127.0.0.1:1", "", []string{"127.0.0.1"}, "127.0.0.1"},
		{"no address", "127.0.0.1:1", "unknown", []string{"127.0.0.1"}, "127.0.0.1"},
		{"IPv6", "[::1]:1", "[2001:db8::9]", []string{"::1"}, "2001:db8::9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = c.peer
			if c.forwarded != "" {
				r.Header.Set("X-Forwarded-For", c.forwarded)
			}
			if got := httpapi.ClientAddress(proxies(t, c.trusted...))(r); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestGuardHostTakesTheForwardedHostOfATrustedProxy(t *testing.T) {
	t.Parallel()
	e, _ := newEcho()
	e.Use(httpapi.GuardHost("bellhop.example.com"))
	e.GET("/*", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	for _, c := range []struct {
		name, peer, forwarded, path string
		status                      int
	}{
		{"the public name", "127.0.0.1:9", "bellhop.example.com", "/", 200},
		{"with a port", "127.0.0.1:9", "bellhop.example.com:8443", "/", 200},
		{"the name that the proxy set last", "127.0.0.1:9", "evil.example.com, bellhop.example.com", "/", 200},
		{"a name that the client set first", "127.0.0.1:9", "bellhop.example.com, evil.example.com", "/", 403},
		{"another name", "127.0.0.1:9", "evil.example.com", "/", 403},
		{"none", "127.0.0.1:9", "", "/", 403},
		{"another peer", "127.0.0.2:9", "bellhop.example.com", "/", 403},
		{"a health check", "127.0.0.2:9", "", "/healthz", 200},
		{"a readiness check", "127.0.0.2:9", "", "/readyz", 200},
		{"a path that only looks like one", "127.0.0.2:9", "", "/healthz/x", 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, c.path, nil)
			r.Host, r.RemoteAddr = "upstream", c.peer // what nginx sends for proxy_pass http://upstream
			if c.forwarded != "" {
				r.Header.Set("X-Forwarded-Host", c.forwarded)
			}
			rec := httptest.NewRecorder()
			httpapi.ForwardedHost(proxies(t, "127.0.0.1"), at("127.0.0.1:7700", e)).ServeHTTP(rec, r)
			if rec.Code != c.status {
				t.Fatalf("status %d %s", rec.Code, rec.Body)
			}
			if rec.Code == http.StatusForbidden && !strings.Contains(rec.Body.String(), "X-Forwarded-Host") {
				t.Errorf("the hint does not name the header: %s", rec.Body)
			}
		})
	}
}

func TestHSTSIsForHTTPSAlone(t *testing.T) {
	t.Parallel()
	for publicURL, want := range map[string]string{
		"https://bellhop.example.com": "max-age=31536000", "http://127.0.0.1:7700": "", "": "",
	} {
		e, _ := newEcho()
		e.Use(httpapi.HSTS(publicURL))
		for _, path := range []string{"/", "/unknown"} {
			if got := call(e, "GET", path, "").Header().Get("Strict-Transport-Security"); got != want {
				t.Errorf("%s%s: %q", publicURL, path, got)
			}
		}
	}
}
