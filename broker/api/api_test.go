package api_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/broker/api"
	"bellhop/broker/auth"
	"bellhop/broker/feed"
	"bellhop/broker/hosts"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/httpapi"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/apicheck"
	"bellhop/internal/testenv/schema"
	"bellhop/protocol"
	"bellhop/webhook/inbound"
)

const (
	password           = "canary-user-password"
	agentPassword      = "canary-agent-password"
	agentURL           = "http://agents.example/"
	installationSecret = "canary-installation-secret"

	publicURL = "http://broker.example"
)

var start = time.Now().UTC().Truncate(time.Second)

// site is a broker on a real database, with a scripted host.
type site struct {
	t     *testing.T
	api   *api.API
	echo  *echo.Echo
	db    *database.DB
	store *store.Store
	auth  *auth.Service
	tasks *broker.Tasks
	host  *host
	clock *testenv.Clock
	logs  *logs
	ada   *person // not an administrator
	bob   *person // another user who is not an administrator
	admin *person
}

type person struct {
	id, email, token string
}

type option func(*config)

type config struct {
	url            string
	customAgentURL string
	origins        []string
}

func onDatabase(url string) option          { return func(c *config) { c.url = url } }
func customAgentURL(url string) option      { return func(c *config) { c.customAgentURL = url } }
func allowOrigins(origins ...string) option { return func(c *config) { c.origins = origins } }

func newSite(t *testing.T, options ...option) *site {
	t.Helper()
	c := config{url: schema.SQLite(t)}
	for _, o := range options {
		o(&c)
	}
	s := &site{t: t, clock: testenv.NewClock(start), logs: &logs{}, host: &host{}}
	log := slog.New(slog.NewJSONHandler(s.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.openStore(c.url, log)
	s.auth = auth.New(auth.Options{Store: s.store, PublicURL: publicURL, Now: s.clock.Now, Log: log})
	s.wire(c, log)
	s.echo = httpapi.New(httpapi.Options{Log: log})
	s.api.Routes(s.echo)
	s.ada = s.person("ada@example.com", false)
	s.bob = s.person("bob@example.com", false)
	s.admin = s.person("root@example.com", true)
	return s
}

func (s *site) openStore(url string, log *slog.Logger) {
	db, err := database.Open(s.t.Context(), url, database.Options{Synchronous: "OFF", Logger: log})
	must(s.t, err)
	s.t.Cleanup(func() { _ = db.Close() })
	keyset, err := seal.Generate()
	must(s.t, err)
	sealer, err := seal.Parse(keyset)
	must(s.t, err)
	s.db, s.store = db, store.New(db, sealer)
}

func (s *site) wire(c config, log *slog.Logger) {
	st, now := s.store, s.clock.Now
	changes := feed.New(&broker.Feeds{Store: st}, feed.Options{Log: log, Access: 10 * time.Millisecond})
	updater := &broker.Updater{Store: st, Notifier: changes, Now: now}
	targets := &broker.Targets{Store: st, CustomAgentURL: c.customAgentURL, Now: now}
	ends := &broker.SessionEnds{Store: st, Updater: updater, Targets: targets, Link: s.host, Now: now, Log: log}
	s.tasks = &broker.Tasks{
		Store: st, Updater: updater, Ends: ends, DefaultAgent: "demo", Now: now, Log: log,
		CheckURL: func(raw string) error {
			if strings.Contains(raw, "10.0.0.1") {
				return protocol.Errorf(protocol.CodeInvalid, "That address is not allowed")
			}
			return nil
		},
	}
	s.tasks.Workspaces = &broker.Workspaces{Store: st, Targets: targets, Link: s.host, Log: log}
	reconciler := &broker.Reconciler{Store: st, Updater: updater, Targets: targets, Link: s.host, Now: now, Log: log}
	ingest := &broker.Ingest{Store: st, Updater: updater, Reconciler: reconciler, Now: now, Log: log}
	reconciler.Ingest = ingest
	sessions := &broker.Sessions{
		Store: st, Updater: updater, Targets: targets, Link: s.host, Ends: ends, Reconciler: reconciler, BrokerID: "broker-1",
		Relayer:    hosts.New(hosts.Options{HTTP: http.DefaultClient, GuardedStreams: http.DefaultClient, Log: log}),
		BrowserURL: publicURL + "/sub", PublicURL: publicURL, Now: now, Log: log,
	}
	shares := &broker.Shares{
		Store: st, Updater: updater, Targets: targets, PublicURL: publicURL, Now: now, Log: log,
		Secrets: []seal.Secret{seal.NewSecret(installationSecret)},
	}
	offers := &broker.Offers{Store: st, Targets: targets, Link: s.host, Now: now, Log: log}
	s.api = &api.API{
		BrokerID:      "broker-1",
		Installations: &broker.Installations{Store: st, Targets: targets, Link: s.host, Offers: offers, Now: now},
		Templates:     &broker.Templates{Store: st, Now: now},
		Shells:        &broker.Shells{Sessions: sessions, Store: st},
		Shares:        shares, Transcripts: &broker.Transcripts{Store: st, Targets: targets, Secrets: shares.Secrets},
		Offers:     offers,
		Workspaces: s.tasks.Workspaces,
		Auth:       s.auth, Tasks: s.tasks, Sessions: sessions, Feed: changes,
		Queue:        &broker.Queue{Store: st, Updater: updater, Sessions: sessions, Now: now, Log: log},
		Interactions: &broker.Interactions{Store: st, Targets: targets, Link: s.host},
		Hosts:        &broker.Hosts{Store: st, Link: s.host, Now: now, Log: log},
		Audit:        &broker.AuditLog{Store: st, Now: now},
		ForgeTokens:  &broker.ForgeTokens{Store: st, Now: now},
		Announcements: &broker.Announcements{
			Store: st, Targets: targets, Link: s.host, BrokerID: "broker-1", Notify: changes.Announced, Now: now, Log: log,
		},
		Adoption: &broker.Adoption{
			Store: st, Updater: updater, Link: s.host, Hosts: s.host, Sessions: sessions, Now: now, Log: log,
		},
		Webhook: inbound.New(inbound.Options{Ingest: ingest, Sessions: sessions, Now: now, Log: log}),
		Console: testConsole(s.t, s.auth, sessions),
		Ready:   s.db.Ping, PublicURL: publicURL, WebhookURL: "http://hooks.example:8080", AllowedOrigins: c.origins,
		Log: log,
	}
}

func (s *site) person(email string, admin bool) *person {
	s.t.Helper()
	user := &broker.User{ID: protocol.NewID(), Email: email, Admin: admin, CreatedAt: s.clock.Now()}
	storetest.AddUser(s.t, s.store, user, password)
	token, err := s.auth.CreateToken(s.t.Context(), &broker.APIToken{UserID: user.ID, Name: "test"})
	must(s.t, err)
	return &person{user.ID, email, token}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// as sends a request as a person (nil: without credentials) with a JSON body (""
// for none).
func (s *site) as(who *person, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r, rec := s.unchecked(who, method, target, body, headers...)
	apicheck.Broker(s.t).Exchange(s.t, r, []byte(body), rec.Code, rec.Header(), rec.Body.Bytes())
	return rec
}

// unchecked is as without the check against the document, for requests that it does not describe and that are accepted
// all the same.
func (s *site) unchecked(
	who *person, method, target, body string, headers ...string,
) (*http.Request, *httptest.ResponseRecorder) {
	s.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body == "" {
		r = httptest.NewRequest(method, target, http.NoBody)
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	if who != nil {
		r.Header.Set("Authorization", "Bearer "+who.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	s.echo.ServeHTTP(rec, r)
	return r, rec
}

// newTask creates a task of ada and returns its id.
func (s *site) newTask(more string) string {
	s.t.Helper()
	body := `{"title":"A task","agentUrl":"` + agentURL + `","agentPassword":"` + agentPassword + `"` + more + `}`
	rec := s.as(s.ada, "POST", "/api/tasks", body)
	if rec.Code != http.StatusCreated {
		s.t.Fatalf("create a task: %d %s", rec.Code, rec.Body)
	}
	return field(s.t, rec, "id")
}

func field(t *testing.T, rec *httptest.ResponseRecorder, name string) string {
	t.Helper()
	var members map[string]any
	must(t, json.Unmarshal(rec.Body.Bytes(), &members))
	value, ok := members[name].(string)
	if !ok {
		t.Fatalf("no %s in %s", name, rec.Body)
	}
	return value
}

// want compares the complete response. In body, UUIDs are written as <id1>, <id2> …
// in the order in which they appear, API tokens as <token>, and times relative to
// the start of the test.
func want(t *testing.T, got *httptest.ResponseRecorder, status int, body string) {
	t.Helper()
	if text := plain(got.Body.String()); got.Code != status || text != body {
		t.Errorf("got  %d %s\nwant %d %s", got.Code, text, status, body)
	}
}

var (
	uuids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	tokens = regexp.MustCompile(`bhp_[A-Za-z0-9_-]{43}`)
	times  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	jwts   = regexp.MustCompile(`eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+`)
)

func plain(text string) string {
	seen := map[string]string{}
	text = uuids.ReplaceAllStringFunc(strings.TrimSuffix(text, "\n"), func(id string) string {
		if seen[id] == "" {
			seen[id] = "<id" + strconv.Itoa(len(seen)+1) + ">"
		}
		return seen[id]
	})
	text = jwts.ReplaceAllString(tokens.ReplaceAllString(text, "<token>"), "<jwt>")
	return times.ReplaceAllStringFunc(text, func(at string) string {
		when, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return at
		}
		return "+" + when.Sub(start).String()
	})
}

// logs collects the log lines of several goroutines.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
