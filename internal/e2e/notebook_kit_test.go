package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"bellhop/protocol"
)

// hook is an agent's webhook. It verifies each request with the official library, as its author
// would, and sends the given answers.
type hook struct {
	*httptest.Server
	t       *testing.T
	answers chan answer // one per request

	mu     sync.Mutex
	secret string
	got    []taken
}

type answer struct {
	status int
	body   string
}

type taken struct {
	id   string
	body protocol.FollowupDelivery
}

func newHook(t *testing.T) *hook {
	h := &hook{t: t, answers: make(chan answer, 16)}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		h.t.Error(err)
	}
	h.mu.Lock()
	verifier, err := webhooks.NewWebhook(h.secret)
	if err == nil {
		err = verifier.Verify(body, r.Header)
	}
	if err != nil {
		h.t.Errorf("a request that is not authentic: %v", err)
	}
	var delivery protocol.FollowupDelivery
	if err := json.Unmarshal(body, &delivery); err != nil {
		h.t.Error(err)
	}
	h.got = append(h.got, taken{r.Header.Get(webhooks.HeaderWebhookID), delivery})
	h.mu.Unlock()
	a := <-h.answers
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

func (h *hook) requests() []taken {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.got)
}

// notebookStack is a broker without a host that may reach this machine.
func notebookStack(t *testing.T, kind storeKind) (s *stack, agentToken string) {
	t.Helper()
	s = prepareStack(t, kind)
	s.broker.env = append(s.broker.env, "BELLHOP_OUTBOUND_ALLOW=127.0.0.0/8")
	agentToken = strings.TrimSpace(s.administer("tokens", "create", "--email", userEmail, "--name", "editor", "--kind",
		"agent", "--agent", "ada"))
	return s, agentToken
}

// bearer adds a token to every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return transport.RoundTrip(r)
}

// editor is an agent with a real MCP client.
type editor struct {
	t       *testing.T
	session *mcp.ClientSession
}

func newEditor(t *testing.T, way mcp.Transport) *editor {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "editor", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), way, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return &editor{t: t, session: session}
}

func overHTTP(s *stack, token string) mcp.Transport {
	return &mcp.StreamableClientTransport{
		Endpoint: s.broker.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true,
	}
}

// call decodes the result of a tool into out.
func (e *editor) call(tool string, args map[string]any, out any) {
	e.t.Helper()
	result, err := e.session.CallTool(e.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		e.t.Fatalf("%s: %v", tool, err)
	}
	raw, err := json.Marshal(result.StructuredContent)
	if err != nil || result.IsError {
		e.t.Fatalf("%s: %v %+v", tool, err, result.Content)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		e.t.Fatalf("%s: %v in %s", tool, err, raw)
	}
}

// as calls the REST API, checks the status and decodes the response.
func (s *stack) as(t *testing.T, token, method, path string, body any, status int, out any) {
	t.Helper()
	resp, err := s.send(t, token, method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		t.Fatalf("%s %s: %d %s %v, want %d", method, path, resp.StatusCode, answer, err, status)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(answer, out); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, answer)
	}
}

// send is for requests whose response may be lost.
func (s *stack) send(t *testing.T, token, method, path string, body any) (*http.Response, error) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.broker.url+path, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return bearer(token).RoundTrip(req)
}

// until polls for an effect in another process.
func until(t *testing.T, what string, met func() bool) {
	t.Helper()
	for limit := time.Now().Add(startLimit); !met(); pause(t.Context(), 20*time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("never: %s", what)
		}
	}
}
