package inbound_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"go.uber.org/goleak"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/crypto/signature"
	"bellhop/crypto/token"
	"bellhop/internal/httpapi"
	"bellhop/internal/testenv"
	"bellhop/protocol"
	"bellhop/webhook/inbound"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	taskID = "task-1"
	other  = "task-2"
	turnID = "turn-1"
	path   = "/api/agent/webhook"
	text   = `{"sessionId":"task-1","type":"text","id":"t1","text":"hello","timestamp":1}`

	acceptedOne = `{"success":true,"accepted":1,"duplicates":0,"cursor":null}`
	format      = `{"error":"Invalid token format","code":"invalid"}`
	payload     = `{"error":"Invalid token payload","code":"invalid"}`
	invalid     = `{"error":"Invalid or expired token","code":"unauthorized"}`
	expired     = `{"error":"Invalid or expired token","code":"token_expired","hint":"Renew it at /api/agent/webhook/renew"}`
	missing     = `{"error":"Missing token","code":"invalid"}`
	notFound    = `{"error":"Task not found or not configured","code":"not_found"}`
	mismatch    = `{"error":"Session ID mismatch","code":"invalid"}`
)

var start = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// fakeDomain is a fake domain behind the webhook: it has two tasks and records what it receives.
type fakeDomain struct {
	mu      sync.Mutex
	secrets map[string]string
	fail    error  // returned by every call
	signer  string // the agent password that task-1's host signs with; "" for none
	stuck   bool   // Ingest returns only when its context ends
	events  []broker.Inbound
	turns   []string
	renewed []string
}

func (d *fakeDomain) Secret(_ context.Context, taskID string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return nil, d.fail
	}
	secret, ok := d.secrets[taskID]
	if !ok {
		return nil, protocol.Errorf(protocol.CodeNotFound, "Task not found")
	}
	return []byte(secret), nil
}

func (d *fakeDomain) CheckLife(_ context.Context, _ string, header http.Header) error {
	if life := protocol.ParseLife(header.Get(protocol.HeaderLife)); life.ID == "other" {
		return protocol.Errorf(protocol.CodeTwoCopies, "two copies of host h")
	}
	return nil
}

func (d *fakeDomain) CheckSignature(_ context.Context, taskID string, header http.Header, body []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.signer == "" {
		return nil
	}
	key, err := signature.OfSession(seal.NewSecret(d.signer), taskID)
	if err != nil {
		return err
	}
	return signature.Verify(header, body, start, key)
}

func (d *fakeDomain) Ingest(
	ctx context.Context, _, claimTurn string, events []broker.Inbound,
) (*protocol.IngestResponse, error) {
	if d.stuck {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, events...)
	d.turns = append(d.turns, claimTurn)
	return &protocol.IngestResponse{Success: true, Accepted: len(events)}, nil
}

func (d *fakeDomain) Renew(_ context.Context, _, password string) (*protocol.RenewResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if password != "agent-password" {
		return nil, protocol.Errorf(protocol.CodeUnauthorized, "Wrong agent password")
	}
	d.renewed = append(d.renewed, password)
	return &protocol.RenewResponse{WebhookURL: "http://broker/hook", ExpiresAt: start}, nil
}

func (d *fakeDomain) eventCount() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.events)
}

type site struct {
	t          *testing.T
	fakeDomain *fakeDomain
	clock      *testenv.Clock
	echo       *echo.Echo
	logs       *logs
}

// logs is written by requests of several goroutines.
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

func newSite(t *testing.T) *site {
	s := &site{
		t:          t,
		fakeDomain: &fakeDomain{secrets: map[string]string{taskID: token.NewSecretHex(), other: token.NewSecretHex()}},
		clock:      testenv.NewClock(start),
		logs:       &logs{},
	}
	hook := inbound.New(inbound.Options{Ingest: s.fakeDomain, Sessions: s.fakeDomain, Now: s.clock.Now})
	s.echo = httpapi.New(httpapi.Options{
		Log: slog.New(slog.NewJSONHandler(s.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	s.echo.POST(path, hook.Handle)
	s.echo.POST(path+"/renew", hook.Renew)
	return s
}

func (s *site) token() string { return s.sign(taskID) }

func (s *site) sign(task string) string {
	s.t.Helper()
	signed, _, err := token.SignWebhook([]byte(s.fakeDomain.secrets[task]), task, turnID, s.clock.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	return signed
}

// forge signs any payload with the task's real secret.
func (s *site) forge(header, claims string) string {
	return forge(header, claims, s.fakeDomain.secrets[taskID])
}

func forge(header, claims, secret string) string {
	head := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(claims))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(head))
	return head + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// recordedBody is a body that records whether it was read.
type recordedBody struct {
	io.Reader
	read int
}

func (w *recordedBody) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.read += n
	return n, err
}

func post(target, body string) (*http.Request, *recordedBody) {
	w := &recordedBody{Reader: strings.NewReader(body)}
	r := httptest.NewRequest(http.MethodPost, target, w)
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Type", "application/json")
	return r, w
}

func (s *site) do(r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	s.echo.ServeHTTP(rec, r)
	return rec
}

// send posts body with a valid token.
func (s *site) send(body string) *httptest.ResponseRecorder {
	r, _ := post(path+"?token="+s.token(), body)
	return s.do(r)
}

func want(t *testing.T, got *httptest.ResponseRecorder, status int, body string) {
	t.Helper()
	if text := strings.TrimSuffix(got.Body.String(), "\n"); got.Code != status || text != body {
		t.Errorf("got  %d %s\nwant %d %s", got.Code, text, status, body)
	}
}
