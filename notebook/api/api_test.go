package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/apicheck"
	"bellhop/notebook"
	"bellhop/notebook/api"
	"bellhop/notebook/store/storetest"
	"bellhop/notebook/verify"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

var start = time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)

// site serves the routes on a real store. The header X-User names the caller, X-Agent an
// agent's own token.
type site struct {
	t     *testing.T
	echo  *echo.Echo
	clock *testenv.Clock
	ada   string
	bob   string
	names map[string]string // id → placeholder
}

type callerKey struct{}

func newSite(t *testing.T) *site {
	t.Helper()
	books := storetest.Open(t)
	s := &site{t: t, clock: testenv.NewClock(start), ada: books.User(t), bob: books.User(t), names: map[string]string{}}
	a := &api.API{
		Notebooks: notebook.New(notebook.Options{
			Store: books, Verifier: verify.New(verify.Options{Now: s.clock.Now}), Icons: images{}, Now: s.clock.Now,
		}),
		User: guard(false), Agent: guard(true),
		Caller: func(ctx context.Context) notebook.Caller {
			c, _ := ctx.Value(callerKey{}).(notebook.Caller)
			return c
		},
	}
	s.echo = httpapi.New(httpapi.Options{Log: slog.New(slog.DiscardHandler)})
	a.Routes(s.echo)
	return s
}

func guard(agents bool) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			caller := notebook.Caller{
				UserID: c.Request().Header.Get("X-User"), AgentIdentifier: c.Request().Header.Get("X-Agent"),
			}
			switch {
			case caller.UserID == "":
				return protocol.Errorf(protocol.CodeUnauthorized, "Unauthorized")
			case caller.AgentIdentifier != "" && !agents:
				return protocol.Errorf(protocol.CodeForbidden, "This token reaches only notebooks and /mcp")
			}
			c.SetRequest(c.Request().WithContext(context.WithValue(c.Request().Context(), callerKey{}, caller)))
			return next(c)
		}
	}
}

// asUser returns the request with a credential of the broker instead of this kit's header fields.
func asUser(r *http.Request) *http.Request {
	shown := r.Clone(r.Context())
	shown.Header = http.Header{"Content-Type": r.Header["Content-Type"], "Authorization": {"Bearer token"}}
	return shown
}

type who struct{ user, agent string }

func (s *site) do(w who, method, path, body string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-User", w.user)
	r.Header.Set("X-Agent", w.agent)
	rec := httptest.NewRecorder()
	s.echo.ServeHTTP(rec, r)
	if !strings.Contains(body, `"unknown":`) { // members that the document does not describe are ignored
		apicheck.Broker(s.t).Exchange(s.t, asUser(r), []byte(body), rec.Code, rec.Header(), rec.Body.Bytes())
	}
	return rec
}

// want compares the complete response; the user's id is replaced by <ada>, and other ids by <0>, <1> … in the
// order of their first appearance.
func (s *site) want(rec *httptest.ResponseRecorder, status int, body string) {
	s.t.Helper()
	got := strings.ReplaceAll(strings.TrimSpace(rec.Body.String()), s.ada, "<ada>")
	got = idPattern.ReplaceAllStringFunc(got, func(id string) string {
		if s.names[id] == "" {
			s.names[id] = "<" + strconv.Itoa(len(s.names)) + ">"
		}
		return s.names[id]
	})
	got = versionPattern.ReplaceAllString(got, `"toolVersion":"?"`)
	if rec.Code != status || got != body {
		s.t.Errorf("%d %s\nwant %d %s", rec.Code, got, status, body)
	}
}

var (
	idPattern      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	versionPattern = regexp.MustCompile(`"toolVersion":"[^"]+"`)
)

// pick returns a member of a response, such as source.id.
func pick(t *testing.T, rec *httptest.ResponseRecorder, path string) string {
	t.Helper()
	var value any
	if err := json.NewDecoder(bytes.NewReader(rec.Body.Bytes())).Decode(&value); err != nil {
		t.Fatalf("%v in %s", err, rec.Body)
	}
	for name := range strings.SplitSeq(path, ".") {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	text, ok := value.(string)
	if !ok {
		t.Fatalf("no %s in %s", path, rec.Body)
	}
	return text
}

func (s *site) create(w who) (notebookID, sessionID string) {
	s.t.Helper()
	rec := s.do(w, "POST", "/api/coding-agent/notebooks", `{"agentName":"Ada","agentIdentifier":"`+w.agent+`"}`)
	if rec.Code != http.StatusCreated {
		s.t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	return pick(s.t, rec, "notebook.id"), pick(s.t, rec, "agentSession.id")
}

func (s *site) save(w who, notebookID string) string {
	s.t.Helper()
	rec := s.do(w, "POST", "/api/coding-agent/sources/with-context",
		`{"notebookId":"`+notebookID+`","title":"t","code":"{}","context":"c"}`)
	if rec.Code != http.StatusCreated {
		s.t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	return pick(s.t, rec, "source.id")
}

func (s *site) ask(user, sourceID string) string {
	s.t.Helper()
	rec := s.do(who{user: user}, "POST", "/api/sources/"+sourceID+"/conversation", `{"content":"?"}`)
	if rec.Code != http.StatusCreated {
		s.t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	return pick(s.t, rec, "message.id")
}
