package notebook_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/crypto/seal"
	"bellhop/internal/testenv"
	"bellhop/notebook"
	"bellhop/notebook/store/storetest"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

var start = time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)

// fixture provides the use cases on a real store, with a manual clock.
type fixture struct {
	*notebook.Service
	t             testing.TB
	books         *storetest.Books
	clock         *testenv.Clock
	outbox        *outbox
	notifications *notifications
	user          string
}

func open(t testing.TB, books *storetest.Books) *fixture {
	t.Helper()
	d := &fixture{t: t, books: books, clock: testenv.NewClock(start), outbox: &outbox{}, notifications: &notifications{}}
	d.Service = notebook.New(notebook.Options{
		Store: books, Verifier: verifier{d.clock}, Outbox: d.outbox, Notifier: d.notifications, Now: d.clock.Now,
	})
	d.user = books.User(t)
	return d
}

// each runs a test on both databases.
func each(t *testing.T, test func(t *testing.T, d *fixture)) {
	t.Helper()
	storetest.Databases(t, func(t *testing.T, openBooks func(t testing.TB) *storetest.Books) {
		test(t, open(t, openBooks(t)))
	})
}

// verifier reports an error in code that contains the word "error".
type verifier struct{ clock *testenv.Clock }

func (v verifier) Verify(_ context.Context, language, code string) protocol.Verification {
	if language == "" {
		language = "go"
	}
	result := protocol.Verification{
		Language: language, Verdict: protocol.Verified, Tool: "stub", ToolVersion: "1", Diagnostics: []protocol.Diagnostic{},
		Digest: "sha256:0",
	}
	if strings.Contains(code, "error") {
		result.Verdict = protocol.VerifyFailed
		result.Diagnostics = []protocol.Diagnostic{{Line: 1, Column: 1, Message: "an error", Severity: "error"}}
	}
	if result.Verdict == protocol.Verified {
		now := v.clock.Now()
		result.VerifiedAt = &now
	}
	return result
}

// outbox records its calls.
type outbox struct {
	mu        sync.Mutex
	endpoints map[string]notebook.Endpoint
	disabled  map[string]bool
	sent      []notebook.Outgoing
	answers   []notebook.Answer
	failures  []notebook.Failure
	progress  map[string]protocol.FollowupProgress
	cleared   []string
}

func (o *outbox) SetEndpoint(_ context.Context, e notebook.Endpoint) (seal.Secret, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !strings.HasPrefix(e.URL, "https://") {
		return seal.Secret{}, protocol.Errorf(protocol.CodeInvalid, "This URL is not allowed")
	}
	if e.Secret.IsZero() {
		e.Secret = seal.NewSecret("whsec_made")
	}
	if o.endpoints == nil {
		o.endpoints, o.disabled = map[string]notebook.Endpoint{}, map[string]bool{}
	}
	o.endpoints[e.ID], o.disabled[e.ID] = e, false
	return e.Secret, nil
}

func (o *outbox) ClearEndpoint(_ context.Context, _, id string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cleared = append(o.cleared, id)
	return nil
}

func (o *outbox) RemoveEndpoint(_ context.Context, _, id string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.endpoints, id)
	return nil
}

func (o *outbox) Enqueue(_ context.Context, f notebook.Outgoing) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent = append(o.sent, f)
	return nil
}

func (o *outbox) Disable(_ context.Context, _, id, _ string) error {
	o.disabled[id] = true
	return nil
}

func (o *outbox) Enable(_ context.Context, _, id string) error {
	o.disabled[id] = false
	return nil
}

func (o *outbox) Answered(_ context.Context, a notebook.Answer) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answers = append(o.answers, a)
	return nil
}

func (o *outbox) Failed(_ context.Context, f notebook.Failure) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures = append(o.failures, f)
	return nil
}

func (o *outbox) Progress(_ context.Context, _, _ string, _ []string) (map[string]protocol.FollowupProgress, error) {
	return o.progress, nil
}

// notifications counts the notifications of each user's feed.
type notifications struct {
	mu sync.Mutex
	n  map[string]int
	up chan struct{} // closed at the next notification
}

func (n *notifications) AgentChanged(userID string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.n == nil {
		n.n = map[string]int{}
	}
	n.n[userID]++
	if n.up != nil {
		close(n.up)
		n.up = nil
	}
}

func (n *notifications) count(userID string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.n[userID]
}

// await blocks until the user was notified that many times.
func (n *notifications) await(userID string, times int) {
	for {
		n.mu.Lock()
		if n.n[userID] >= times {
			n.mu.Unlock()
			return
		}
		if n.up == nil {
			n.up = make(chan struct{})
		}
		up := n.up
		n.mu.Unlock()
		<-up
	}
}

// agent is a registered agent.
type agent struct {
	d        *fixture
	caller   notebook.Caller
	session  protocol.AgentSession
	notebook protocol.Notebook
}

func (d *fixture) agent(identifier string) *agent {
	d.t.Helper()
	a := &agent{d: d, caller: notebook.Caller{UserID: d.user, AgentIdentifier: identifier}}
	resp, err := d.Create(d.t.Context(), a.caller, &notebook.CreateRequest{
		AgentName: "Agent " + identifier, AgentIdentifier: identifier,
	})
	must(d.t, err)
	a.session, a.notebook = resp.AgentSession, resp.Notebook
	return a
}

func (a *agent) save(code string) protocol.Source {
	a.d.t.Helper()
	resp, err := a.d.Save(a.d.t.Context(), a.caller, &notebook.SaveRequest{
		NotebookID: a.notebook.ID, Title: "a title", Code: code, Context: "why",
	})
	must(a.d.t, err)
	return resp.Source
}

func (a *agent) poll() []protocol.Followup {
	a.d.t.Helper()
	resp, err := a.d.Followups(a.d.t.Context(), a.caller, "")
	must(a.d.t, err)
	return resp.Messages
}

func (a *agent) respond(id, text string, update *notebook.CodeUpdate) (*notebook.RespondResponse, error) {
	return a.d.Respond(a.d.t.Context(), a.caller, id, &notebook.RespondRequest{Response: text, CodeUpdate: update})
}

func (d *fixture) ask(sourceID, text string) protocol.FollowupMessage {
	d.t.Helper()
	resp, err := d.Ask(d.t.Context(), d.user, sourceID, &notebook.AskRequest{Content: text})
	must(d.t, err)
	return resp.Message
}

func (d *fixture) conversation(sourceID string) *protocol.Conversation {
	d.t.Helper()
	c, err := d.Conversation(d.t.Context(), d.user, sourceID)
	must(d.t, err)
	return c
}

// unread returns the counts of the notebooks.
func (d *fixture) unread() (counts []int) {
	d.t.Helper()
	list, err := d.Notebooks(d.t.Context(), d.user)
	must(d.t, err)
	for _, n := range list.Notebooks {
		counts = append(counts, n.Unread)
	}
	return counts
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, code protocol.Code) {
	t.Helper()
	if protocol.CodeOf(err) != code {
		t.Errorf("got %q, want %q: %v", protocol.CodeOf(err), code, err)
	}
}
