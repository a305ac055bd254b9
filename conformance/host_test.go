package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/api"
	"bellhop/agenthost/journal"
	"bellhop/agenthost/provider/providertest"
	"bellhop/agenthost/workspace"
	"bellhop/crypto/seal"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

const (
	password = "conformance-password"
	console  = "https://console.example.com"
)

// serve runs an agent host. Its posts pass through spoil and its requests through between;
// either may be nil.
func serve(t *testing.T, spoil func(*protocol.Event) bool, between func(http.Handler) http.Handler) HostOptions {
	t.Helper()
	data := t.TempDir()
	records, err := journal.Open(data, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	workspaces, err := workspace.New(workspace.Options{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	var poster agenthost.Poster = &http.Client{Transport: transport}
	if spoil != nil {
		poster = &spoiler{poster, spoil}
	}
	domain, err := agenthost.New(agenthost.Options{
		Journal: records, Providers: map[string]agenthost.Provider{"demo": &providertest.Fake{}}, DefaultAgent: "demo",
		Workspaces: workspaces, Poster: poster, Password: seal.NewSecret(password),
	})
	if err != nil {
		t.Fatal(err)
	}
	a := &api.API{Host: domain, Password: seal.NewSecret(password), AllowedOrigins: []string{console}}
	e := httpapi.New(httpapi.Options{})
	a.Routes(e)
	var handler http.Handler = e
	if between != nil {
		handler = between(e)
	}
	server := httptest.NewServer(handler)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- domain.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		server.Close()
		transport.CloseIdleConnections()
		if err := records.Close(); err != nil {
			t.Error(err)
		}
	})
	return HostOptions{
		URL: server.URL, Password: password, Origin: console, Slow: "hang",
		Plain:   "text Let me \ntext see.\ntool read {\"path\":\"x\"}\ntext It says \ntext hello.",
		Confirm: "confirm write {\"path\":\"x\"}\ntext done",
	}
}

// spoiler lets spoil change or drop (by returning false) posted events, and reports all of them
// as accepted.
type spoiler struct {
	agenthost.Poster
	spoil func(*protocol.Event) bool
}

func (s *spoiler) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var in protocol.WebhookBatch
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	out := protocol.WebhookBatch{SessionID: in.SessionID}
	if len(in.Events) == 0 {
		in.Events = []json.RawMessage{body}
	}
	var last protocol.Cursor
	for _, raw := range in.Events {
		e, err := protocol.ParseEvent(raw)
		if err != nil {
			return nil, err
		}
		last = protocol.Cursor{Epoch: e.Epoch, Seq: e.Seq}
		if s.spoil(e) {
			if raw, err = json.Marshal(e); err != nil {
				return nil, err
			}
			out.Events = append(out.Events, raw)
		}
	}
	if len(out.Events) > 0 {
		if body, err = json.Marshal(out); err != nil {
			return nil, err
		}
		again := r.Clone(r.Context())
		again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		resp, err := s.Poster.Do(again)
		if err != nil {
			return nil, err
		}
		_ = resp.Body.Close()
	}
	taken, err := json.Marshal(protocol.IngestResponse{Success: true, Cursor: &last})
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{
			"Content-Type": {"application/json"}, protocol.HeaderBroker: {brokerID},
			protocol.HeaderRequest: r.Header.Values(protocol.HeaderRequest),
		},
		Body: io.NopCloser(bytes.NewReader(taken)), Request: r,
	}, err
}

func TestTheAgentHostPassesEveryCheck(t *testing.T) {
	t.Parallel()
	r, err := Host(t.Context(), serve(t, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := r.Write(&text); err != nil {
		t.Fatal(err)
	}
	if r.Failed+r.Skipped > 0 {
		t.Errorf("%s", text.String())
	}
	if strings.Contains(text.String(), password) {
		t.Errorf("the report holds the password")
	}
}

func TestEveryFaultOfAHostFailsItsCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil          func(*protocol.Event) bool
		between        func(http.Handler) http.Handler
		check, problem string
	}{
		"one event is dropped": {
			spoil: func(e *protocol.Event) bool { return e.Type != protocol.EventToolResult },
			check: "the webhook", problem: "of the stream's tool-result",
		},
		"the report of a dropped event names the next one": {
			spoil: func(e *protocol.Event) bool { return e.Type != protocol.EventToolResult },
			check: "the webhook", problem: "came when 1-4 was next",
		},
		"a text is changed": {
			spoil: func(e *protocol.Event) bool {
				if e.Type == protocol.EventText {
					text := strings.ToUpper(*e.Text)
					e.Text = &text
				}
				return true
			},
			check: "the webhook", problem: `the stream had "Let me see."`,
		},
		"events and posts differ": {
			spoil: func(e *protocol.Event) bool { e.Timestamp = json.RawMessage("1"); return true },
			check: "reconciliation", problem: "differs",
		},
		"cursors are ignored": {
			between: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					r.Header.Del("Last-Event-ID")
					next.ServeHTTP(w, r)
				})
			},
			check: "resume", problem: "204",
		},
		"the password is not checked": {
			between: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/session" {
						r.Header.Set("Authorization", "Bearer "+password)
					}
					next.ServeHTTP(w, r)
				})
			},
			check: "errors", problem: "POST /session without the password: got 200",
		},
		"a gateway confirms in the host's place": {
			between: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodDelete {
						next.ServeHTTP(w, r)
						return
					}
					next.ServeHTTP(httptest.NewRecorder(), r)
					_, _ = io.WriteString(w, `{"success":true}`)
				})
			},
			check: "the end of a session", problem: "without the session's id",
		},
		"a stream does not name its request": {
			between: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.HasPrefix(r.URL.Path, "/stream/") {
						r.Header.Del(protocol.HeaderRequest)
					}
					next.ServeHTTP(w, r)
				})
			},
			check: "named answers", problem: "GET /stream/",
		},
		"browsers are not let in": {
			between: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					r.Header.Del("Origin")
					next.ServeHTTP(w, r)
				})
			},
			check: "CORS", problem: `has Access-Control-Allow-Origin ""`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := serve(t, c.spoil, c.between)
			options.Patience, options.only = 2*time.Second, []string{c.check}
			r, err := Host(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			if got := failures(r); !strings.Contains(got[c.check], c.problem) {
				t.Errorf("check %q says %q, want %q; failed: %v", c.check, got[c.check], c.problem, got)
			}
		})
	}
}

func TestAnUnreachableHostFailsWithAMessage(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	r, err := Host(t.Context(), HostOptions{URL: server.URL, Password: password, Patience: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if got := failures(r)["health"]; !strings.Contains(got, "connection refused") {
		t.Errorf("got %q", got)
	}
}
