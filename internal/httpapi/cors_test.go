package httpapi_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

const app = "https://app.example.com"

func corsEcho(t *testing.T, credentials bool) *echo.Echo {
	t.Helper()
	e, _ := newEcho()
	e.Use(httpapi.CORS(httpapi.CORSOptions{
		AllowedOrigins: []string{app, "http://localhost:5173", "null", "*"}, Credentials: credentials,
	}))
	e.GET("/ok", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	e.GET("/busy", func(echo.Context) error { return protocol.Errorf(protocol.CodeTooManyRequests, "x") })
	e.GET("/boom", func(echo.Context) error { panic("x") })
	return e
}

func TestCORSMarksEveryResponse(t *testing.T) {
	t.Parallel()
	e := corsEcho(t, false)
	for target, status := range map[string]int{"/ok": 200, "/nowhere": 404, "/busy": 429, "/boom": 500} {
		rec := call(e, "GET", target, "", "Origin", app)
		header := rec.Header()
		if rec.Code != status || header.Get("Access-Control-Allow-Origin") != app ||
			!slices.Contains(header.Values("Vary"), "Origin") ||
			header.Get("Access-Control-Allow-Credentials") != "" ||
			header.Get("Access-Control-Expose-Headers") != "Retry-After, X-Request-Id, Bellhop-Broker, Bellhop-Request" {
			t.Errorf("%s: %d %v", target, rec.Code, header)
		}
	}
	if rec := call(e, "POST", "/ok", "", "Origin", app); rec.Code != 405 ||
		rec.Header().Get("Access-Control-Allow-Origin") != app {
		t.Errorf("wrong method: %d %v", rec.Code, rec.Header())
	}
	if got := call(corsEcho(t, true), "GET", "/ok", "", "Origin",
		app).Header().Get("Access-Control-Allow-Credentials"); got != "true" {
		t.Errorf("credentials: %q", got)
	}
}

func TestCORSComparesOriginsExactly(t *testing.T) {
	t.Parallel()
	e := corsEcho(t, true)
	for _, origin := range []string{
		"", "null", "*", "https://app.example.com.evil.io", "https://evil.io/https://app.example.com",
		"http://app.example.com", "https://app.example.com:444", "https://APP.example.com", "https://app.example.com/",
		"https://xapp.example.com", "http://localhost:51730",
	} {
		for _, method := range []string{"GET", "OPTIONS"} {
			header := call(e, method, "/ok", "", "Origin", origin, "Access-Control-Request-Method", "GET").Header()
			for name := range header {
				if len(name) > 14 && name[:14] == "Access-Control" {
					t.Errorf("%s %q: %s", method, origin, name)
				}
			}
			if !slices.Contains(header.Values("Vary"), "Origin") {
				t.Errorf("%s %q: no Vary", method, origin)
			}
		}
	}
	r := []string{"Origin", app}
	rec := call(e, "GET", "/ok", "", r...)
	if rec.Header().Get("Access-Control-Allow-Origin") != app {
		t.Error("the exact origin is refused")
	}
}

func TestCORSAnswersPreflights(t *testing.T) {
	t.Parallel()
	e := corsEcho(t, false)
	preflight := []string{
		"Origin", app, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization",
	}
	for _, target := range []string{"/ok", "/nowhere"} {
		rec := call(e, "OPTIONS", target, "", preflight...)
		header := rec.Header()
		if rec.Code != 204 || header.Get("Access-Control-Allow-Origin") != app ||
			header.Get("Access-Control-Allow-Methods") != "GET, POST, PUT, PATCH, DELETE" ||
			header.Get("Access-Control-Allow-Headers") != "Authorization, Content-Type, Last-Event-ID, Cache-Control, Bellhop-Request, Idempotency-Key" ||
			header.Get("Access-Control-Allow-Private-Network") != "" {
			t.Errorf("%s: %d %v", target, rec.Code, header)
		}
	}
	rec := call(e, "OPTIONS", "/ok", "", append(preflight, "Access-Control-Request-Private-Network", "true")...)
	if rec.Header().Get("Access-Control-Allow-Private-Network") != "true" {
		t.Errorf("private network: %v", rec.Header())
	}
}

func TestParseOrigins(t *testing.T) {
	t.Parallel()
	got, err := httpapi.ParseOrigins([]string{
		" https://App.Example.com/ ", "", "http://localhost:5173", "https://a.io:443", "http://[::1]:80", "http://a.io:443",
	})
	want := []string{"https://app.example.com", "http://localhost:5173", "https://a.io", "http://[::1]", "http://a.io:443"}
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%q, %v", got, err)
	}
	for _, bad := range []string{
		"*", "null", "https://*.example.com", "app.example.com", "ftp://a.io", "https://a.io/path", "https://u@a.io",
		"https://a.io?x", "https://",
	} {
		if _, err := httpapi.ParseOrigins([]string{bad}); protocol.CodeOf(err) != protocol.CodeInvalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
