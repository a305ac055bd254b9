package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
	"bellhop/internal/observe"
	"bellhop/protocol"
)

func TestEveryCodeHasAStatus(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../../protocol/error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Code") {
			return true
		}
		code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		codes++
		status := httpapi.StatusOf(protocol.Code(code))
		if (status == http.StatusInternalServerError) != (code == "internal") || status < 400 {
			t.Errorf("%s: %d", code, status)
		}
		return true
	})
	if codes < 20 {
		t.Fatalf("found %d codes only", codes)
	}
	if httpapi.StatusOf("unheard-of") != http.StatusInternalServerError {
		t.Error("an unknown code must be a fault of ours")
	}
}

func TestErrorsHaveOneShape(t *testing.T) {
	t.Parallel()
	index := 2
	cases := []struct {
		name   string
		err    error
		status int
		body   string
		header map[string]string
	}{
		{
			"code and message", protocol.Errorf(protocol.CodeNotFound, "Task not found"), 404,
			`{"error":"Task not found","code":"not_found"}`, nil,
		},
		{
			"wrapped, with hint and cause",
			fmt.Errorf("op: %w", &protocol.Error{
				Code: protocol.CodeBadGateway, Message: "No", Hint: "Look", Err: errors.New("canary"),
			}),
			502, `{"error":"No","code":"bad_gateway","hint":"Look"}`, nil,
		},
		{
			"cursor and index",
			&protocol.Error{
				Code: protocol.CodeGap, Message: "Events are missing", Cursor: &protocol.Cursor{Epoch: 1, Seq: 4}, Index: &index,
			},
			409, `{"error":"Events are missing","code":"gap","cursor":{"epoch":1,"seq":4},"index":2}`, nil,
		},
		{
			"fields, which cannot replace code",
			&protocol.Error{
				Code: protocol.CodeBadGateway, Message: "x",
				Fields: map[string]any{"turnId": "t", "messageId": "m", "code": "canary"},
			},
			502, `{"error":"x","code":"bad_gateway","messageId":"m","turnId":"t"}`, nil,
		},
		{
			"Retry-After", &protocol.Error{Code: protocol.CodeTooManyRequests, Message: "Slow down", RetryAfter: 7},
			429, `{"error":"Slow down","code":"too_many_requests"}`,
			map[string]string{"Retry-After": "7"},
		},
		{
			"Retry-After by default", protocol.Errorf(protocol.CodeUnavailable, "Later"), 503,
			`{"error":"Later","code":"unavailable"}`,
			map[string]string{"Retry-After": "1", "Cache-Control": "no-store"},
		},
		{
			"401 names the scheme", protocol.Errorf(protocol.CodeUnauthorized, "Unauthorized"), 401,
			`{"error":"Unauthorized","code":"unauthorized"}`,
			map[string]string{"WWW-Authenticate": "Bearer"},
		},
		{"an unknown error", errors.New("canary"), 500, `{"error":"Internal error","code":"internal"}`, nil},
		{
			"an internal error hides its message",
			&protocol.Error{Code: protocol.CodeInternal, Message: "canary", Hint: "canary"}, 500,
			`{"error":"Internal error","code":"internal"}`, nil,
		},
		{"an unknown code", protocol.Errorf("canary", "canary"), 500, `{"error":"Internal error","code":"internal"}`, nil},
		{
			"a deadline", fmt.Errorf("query: %w", context.DeadlineExceeded), 503,
			`{"error":"The request took too long","code":"unavailable"}`, nil,
		},
		{"Echo's own", echo.NewHTTPError(400, "canary"), 400, `{"error":"Bad request","code":"invalid"}`, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e, _ := newEcho()
			e.GET("/", func(echo.Context) error { return c.err })
			rec := call(e, "GET", "/", "")
			requireAnswer(t, rec, c.status, c.body)
			for name, want := range c.header {
				if got := rec.Header().Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestInternalErrorsAreLoggedOnceAndOthersByLevel(t *testing.T) {
	t.Parallel()
	e, log := newEcho()
	e.GET("/boom/:id", func(echo.Context) error { return fmt.Errorf("insert: %w", errors.New("disk on fire")) })
	e.GET("/panic", func(echo.Context) error { panic("at the disco") })
	requireAnswer(t, call(e, "GET", "/boom/7?token=canary", ""), 500, `{"error":"Internal error","code":"internal"}`)
	requireAnswer(t, call(e, "GET", "/panic?token=canary", "", "Authorization", "Bearer canary"), 500,
		`{"error":"Internal error","code":"internal"}`)
	text := log.String()
	for _, once := range []string{
		"disk on fire", "level=ERROR msg=\"request failed\" method=GET route=/boom/:id code=internal",
		"panic: at the disco",
	} {
		if strings.Count(text, once) != 1 {
			t.Errorf("%q stands %d times in\n%s", once, strings.Count(text, once), text)
		}
	}
	if strings.Contains(text, "canary") {
		t.Errorf("a secret was logged:\n%s", text)
	}
}

// A busy host posts very many.
func TestSuccessfulRequestsAreLoggedForDebuggingOnly(t *testing.T) {
	t.Parallel()
	out := new(logged)
	e := httpapi.New(httpapi.Options{Log: slog.New(slog.NewTextHandler(out, nil))}) // at info
	e.GET("/good", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	call(e, "GET", "/good", "")
	call(e, "GET", "/unknown", "")
	if got := out.String(); strings.Contains(got, "/good") || !strings.Contains(got, "/unknown") {
		t.Errorf("logged at info:\n%s", got)
	}
}

func TestLogsContainNoQuery(t *testing.T) {
	t.Parallel()
	e, log := newEcho()
	e.POST("/hook", func(echo.Context) error {
		return &protocol.Error{
			Code: protocol.CodeBadGateway, Message: "x",
			Err: &url.Error{Op: "Post", URL: "https://u:canary@host/path?token=canary", Err: errors.New("refused")},
		}
	})
	call(e, "POST", "/hook?token=canary", `{}`)
	call(e, "GET", "/hook?token=canary", "")
	call(e, "GET", "/nowhere?token=canary", "", "X-Request-Id", "can\nary")
	text := log.String()
	if strings.Contains(text, "canary") {
		t.Fatalf("a secret was logged:\n%s", text)
	}
	if !strings.Contains(text, "path=/hook") || !strings.Contains(text, "https://[redacted]@host/path?[redacted]") {
		t.Fatalf("the log says too little:\n%s", text)
	}
}

func TestUnknownRoutesAndMethods(t *testing.T) {
	t.Parallel()
	e, _ := newEcho()
	ok := func(c echo.Context) error { return c.NoContent(http.StatusOK) }
	e.POST("/api/agent/webhook", ok)
	e.GET("/api/tasks", ok)
	e.GET("/api/tasks/:id", ok)
	e.PATCH("/api/tasks/:id", ok)
	notFound := `{"error":"Not found","code":"not_found"}`
	wrongMethod := `{"error":"Method not allowed","code":"method_not_allowed"}`
	cases := []struct {
		name, method, target string
		status               int
		body, allow          string
	}{
		{"an unknown path", "GET", "/api/nothing", 404, notFound, ""},
		{"a trailing slash", "POST", "/api/agent/webhook/", 404, notFound, ""},
		{"a trailing slash where a parameter could follow", "GET", "/api/tasks/", 404, notFound, ""},
		{"more behind the last parameter", "GET", "/api/tasks/7/more", 404, notFound, ""},
		{"a double slash", "POST", "/api//agent/webhook", 404, notFound, ""},
		{"a wrong method", "GET", "/api/agent/webhook", 405, wrongMethod, "OPTIONS, POST"},
		{"PUT", "PUT", "/api/agent/webhook", 405, wrongMethod, "OPTIONS, POST"},
		{"HEAD", "HEAD", "/api/agent/webhook", 405, "", "OPTIONS, POST"},
		{"an odd method", "BREW", "/api/tasks", 405, wrongMethod, "OPTIONS, GET"},
		{"OPTIONS of a route", "OPTIONS", "/api/tasks/7", 204, "", "OPTIONS, GET, PATCH"},
		{"OPTIONS of no route", "OPTIONS", "/api/nothing", 404, notFound, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rec := call(e, c.method, c.target, "")
			requireAnswer(t, rec, c.status, c.body)
			if got := rec.Header().Get("Allow"); got != c.allow {
				t.Errorf("Allow %q, want %q", got, c.allow)
			}
			if rec.Header().Get("Location") != "" || rec.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("header %v", rec.Header())
			}
		})
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	e, log := newEcho()
	var seen string
	e.GET("/", func(c echo.Context) error {
		seen = observe.RequestID(c.Request().Context())
		return c.NoContent(200)
	})
	if rec := call(e, "GET", "/", "", "X-Request-Id", "abc-1"); seen != "abc-1" ||
		rec.Header().Get("X-Request-Id") != "abc-1" {
		t.Errorf("a given id: %q", seen)
	}
	for _, bad := range []string{"", "a b", "a\nb", strings.Repeat("x", 65)} {
		if call(e, "GET", "/", "", "X-Request-Id", bad); len(seen) != 36 {
			t.Errorf("%q became %q", bad, seen)
		}
	}
	if !strings.Contains(log.String(), "request_id=abc-1") {
		t.Errorf("not logged:\n%s", log)
	}
}
