package local_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"bellhop/agenthost"
	"bellhop/agenthost/journal"
	"bellhop/agenthost/local"
	"bellhop/agenthost/provider/providertest"
	"bellhop/crypto/seal"
	"bellhop/internal/httpapi"
	"bellhop/policy"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testTimeout ends a test that hangs.
const testTimeout = 10 * time.Minute

// testHost is a host with its loopback listener. Its sessions are headless, so it needs
// no broker.
type testHost struct {
	*testing.T
	data   string
	root   string // of the sessions' directories
	spaces *fakeWorkspaces
	fake   *providertest.Fake
	log    *safeBuffer
	more   map[string]agenthost.Provider
	rules  agenthost.Policy // nil: every question is asked

	host *agenthost.Host
	url  string
	end  func()
}

type fixedPolicy struct{ *policy.Engine }

func (fixedPolicy) Notices() []string { return nil }

type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newTestHost(t *testing.T) *testHost {
	t.Helper()
	return newTestHostWith(t, nil)
}

// newTestHostWith adds further agents.
func newTestHostWith(t *testing.T, more map[string]agenthost.Provider) *testHost {
	t.Helper()
	return newTestHostUnder(t, "", more)
}

// newTestHostUnder decides by the rules of a policy file. "" means that every question is
// asked.
func newTestHostUnder(t *testing.T, rules string, more map[string]agenthost.Provider) *testHost {
	t.Helper()
	s := &testHost{T: t, data: t.TempDir(), root: t.TempDir(), fake: &providertest.Fake{}, log: &safeBuffer{}, more: more}
	if rules != "" {
		engine, err := policy.Parse([]byte(rules), "test.yaml", policy.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.rules = fixedPolicy{engine}
	}
	s.spaces = &fakeWorkspaces{root: s.root, notes: map[string]map[string]string{}, commands: map[string][]string{}}
	s.start()
	return s
}

// start runs a host on the journal until end.
func (s *testHost) start() {
	s.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	s.url = "http://" + listener.Addr().String()
	j, err := journal.Open(s.data, time.Now())
	if err != nil {
		s.Fatal(err)
	}
	log := slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	providers := map[string]agenthost.Provider{"fake": s.fake}
	maps.Copy(providers, s.more)
	s.host, err = agenthost.New(agenthost.Options{
		Journal: j, Providers: providers, DefaultAgent: "fake",
		Workspaces: s.spaces, Password: seal.NewSecret("pw"), LocalURL: s.url, Log: log,
		Policy: s.rules,
	})
	if err != nil {
		s.Fatal(err)
	}
	e := httpapi.New(httpapi.Options{Log: log})
	ends := &local.Server{Host: s.host, Workspaces: s.spaces, Records: s.TempDir(), Version: "1", Log: log}
	ends.Routes(e)
	server := httpapi.Server(e, httpapi.ServerOptions{Log: log})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(listener) })
	running.Go(func() { _ = s.host.Run(ctx) })
	var once sync.Once
	s.end = func() {
		once.Do(func() {
			http.DefaultClient.CloseIdleConnections()
			ends.End()
			_ = server.Close()
			cancel()
			running.Wait()
			if err := j.Close(); err != nil {
				s.Error(err)
			}
		})
	}
	s.Cleanup(s.end)
}

// session opens a session, runs one turn and returns its agent's AgentSpec.
func (s *testHost) session() (id string, spec agenthost.AgentSpec) {
	s.Helper()
	res, err := s.host.OpenHeadless(s.Context(), &agenthost.HeadlessRequest{})
	if err != nil {
		s.Fatal(err)
	}
	s.turn(res.SessionID, "text hello")
	specs := s.fake.Specs()
	return res.SessionID, specs[len(specs)-1]
}

func (s *testHost) turn(id, prompt string) {
	s.Helper()
	s.begin(id, prompt)
	s.waitForStatus("the turn ends", func(st *agenthost.HostStatus) bool { return st.OpenTurns == 0 })
}

func (s *testHost) begin(id, prompt string) {
	s.Helper()
	if err := s.host.Input(s.Context(), agenthost.Grant{SessionID: id},
		&protocol.PromptRequest{Prompt: prompt}); err != nil {
		s.Fatal(err)
	}
}

// waitForStatus polls the host's status until the condition holds.
func (s *testHost) waitForStatus(what string, holds func(*agenthost.HostStatus) bool) {
	s.Helper()
	watch := s.host.WatchStatus()
	defer watch.Close()
	limit := time.NewTimer(testTimeout)
	defer limit.Stop()
	for {
		select {
		case <-watch.C:
		case <-limit.C:
			status, err := s.host.Status(s.Context())
			s.Fatalf("never happened: %s: %+v, %v", what, status, err)
		}
		if status, err := s.host.Status(s.Context()); err == nil && holds(status) {
			return
		}
	}
}

// waitForWorkspace waits until a workspace has a status and a reason.
func (s *testHost) waitForWorkspace(path string, status protocol.Status, reason string) {
	s.Helper()
	s.waitForStatus(path+" is "+string(status)+" "+reason, func(st *agenthost.HostStatus) bool {
		for _, w := range st.Workspaces {
			if w.Path == path {
				return w.Status == status && w.Reason == reason
			}
		}
		return status == protocol.StatusNone
	})
}

type request struct {
	method, path, body string
	header             []string
}

func bearer(secret string) string { return "Authorization: Bearer " + secret }

func (s *testHost) call(q request) (int, string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), q.method, s.url+q.path, strings.NewReader(q.body))
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for _, line := range q.header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
		if name == "Host" {
			req.Host = value
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(body))
}

func (s *testHost) hook(secret, body string) {
	s.Helper()
	if status, answer := s.call(request{
		"POST", "/hook", body, []string{bearer(secret)},
	}); status != http.StatusOK || answer != "{}" {
		s.Fatalf("%s: %d %s", body, status, answer)
	}
}

type asAgent struct{ secret, path string }

func (a asAgent) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+a.secret)
	if a.path != "" {
		r.Header.Set("X-Workspace-Path", a.path)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (s *testHost) connect(a asAgent) *sdk.ClientSession {
	s.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(s.Context(), &sdk.StreamableClientTransport{
		Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: a},
	}, nil)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = session.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return session
}

// tool calls a tool and returns its result or its error text.
func (s *testHost) tool(
	session *sdk.ClientSession, name string, args map[string]any,
) (out map[string]any, failure string) {
	s.Helper()
	result, err := session.CallTool(s.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		s.Fatalf("%s: %v", name, err)
	}
	if result.IsError {
		return nil, result.Content[0].(*sdk.TextContent).Text
	}
	out, _ = result.StructuredContent.(map[string]any)
	return out, ""
}

// fakeWorkspaces implements WorkspaceManager with plain directories. Tests choose its
// results.
type fakeWorkspaces struct {
	root     string
	commands map[string][]string

	mu    sync.Mutex
	notes map[string]map[string]string
	dirty bool
}

func (m *fakeWorkspaces) Dir(_ context.Context, sessionID, _ string) (dir, stateDir string, err error) {
	dir, stateDir = filepath.Join(m.root, sessionID), filepath.Join(m.root, "state-"+sessionID)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.notes[dir] == nil {
		m.notes[dir] = map[string]string{}
	}
	return dir, stateDir, errors.Join(os.MkdirAll(dir, 0o700), os.MkdirAll(stateDir, 0o700))
}

func (m *fakeWorkspaces) of(path string) (map[string]string, error) {
	if notes := m.notes[path]; notes != nil {
		return notes, os.MkdirAll(path, 0o700)
	}
	return nil, protocol.Errorf(protocol.CodeNotFound, "No such workspace")
}

func (m *fakeWorkspaces) Info(_ context.Context, path string) (agenthost.WorkspaceInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.of(path)
	return agenthost.WorkspaceInfo{Path: path, Branch: "b", Dirty: m.dirty}, err
}

func (m *fakeWorkspaces) Create(_ context.Context, _, name, _ string) (agenthost.WorkspaceInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	path := filepath.Join(m.root, name)
	if m.notes[path] != nil {
		return agenthost.WorkspaceInfo{}, protocol.Errorf(protocol.CodeConflict, "The name is taken")
	}
	m.notes[path] = map[string]string{}
	return agenthost.WorkspaceInfo{Path: path, Branch: "bellhop/" + name}, nil
}

func (m *fakeWorkspaces) Delete(_ context.Context, path string, force bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dirty && !force {
		return protocol.Errorf(protocol.CodeConflict, "The workspace has uncommitted work")
	}
	_, err := m.of(path)
	delete(m.notes, path)
	return err
}

func (m *fakeWorkspaces) Metadata(_ context.Context, path string) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	notes, err := m.of(path)
	return maps.Clone(notes), err
}

func (m *fakeWorkspaces) SetMetadata(_ context.Context, path, key string, value *string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	notes, err := m.of(path)
	if err != nil {
		return err
	}
	if delete(notes, key); value != nil {
		notes[key] = *value
	}
	return nil
}

func (m *fakeWorkspaces) Commands(string) []string { return slices.Sorted(maps.Keys(m.commands)) }

func (m *fakeWorkspaces) Command(_, name string) ([]string, bool) {
	args, ok := m.commands[name]
	return args, ok
}
