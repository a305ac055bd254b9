package app

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

const adasKey, bobsKey = "bhu_canary-key-of-the-user-ada-0123456789", "bhu_canary-key-of-the-user-bob-0123456789"

// hostOfAda is a host on which an agent of ada created the workspace fix of the project shop.
type hostOfAda struct {
	*testing.T
	host *Host
	fake *providertest.Fake
}

func (h *hostOfAda) open(session, workspace, ownerKey string) (*protocol.OpenSessionResponse, error) {
	h.Helper()
	return h.host.Domain.Open(h.Context(), &protocol.OpenSessionRequest{
		SessionID: session, WebhookURL: "http://127.0.0.1:1/", BrokerID: "b1", Cursor: &protocol.Cursor{},
		Turn: &protocol.AnnouncedTurn{ID: session + "-turn"}, Workspace: workspace,
	}, agenthost.Keys{Owner: ownerKey})
}

// turn runs a turn that open has announced.
func (h *hostOfAda) turn(session string, opened *protocol.OpenSessionResponse) {
	h.Helper()
	grant, err := h.host.Domain.Authorize(h.Context(), session, opened.Token)
	if err != nil {
		h.Fatal(err)
	}
	stream, err := h.host.Domain.Start(h.Context(), grant, &protocol.PromptRequest{Prompt: "text hi"})
	if err != nil {
		h.Fatal(err)
	}
	defer stream.Close()
	for stream.Live != nil {
		if _, err := stream.Live.Next(h.Context()); err != nil {
			return
		}
	}
}

// get calls a route of the host with its password.
func (h *hostOfAda) get(path, ownerKey string) (int, string) {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), http.MethodGet, h.host.URL+path, http.NoBody)
	if err != nil {
		h.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer pw")
	if ownerKey != "" {
		req.Header.Set(protocol.HeaderOwnerKey, ownerKey)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		h.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func newHostOfAda(t *testing.T) *hostOfAda {
	t.Helper()
	fake := &providertest.Fake{}
	projects := map[string]ProjectFile{"shop": {Path: repository(t)}, "blog": {Path: repository(t)}}
	host, _ := runHost(t, t.TempDir(), projects, fake)
	h := &hostOfAda{T: t, host: host, fake: fake}
	opened, err := host.Domain.Open(t.Context(), &protocol.OpenSessionRequest{
		SessionID: "first", WebhookURL: "http://127.0.0.1:1/", BrokerID: "b1", Cursor: &protocol.Cursor{}, Project: "shop",
		Turn: &protocol.AnnouncedTurn{ID: "first-turn"},
	}, agenthost.Keys{Owner: adasKey})
	if err != nil {
		t.Fatal(err)
	}
	h.turn("first", opened)
	if made, failure := tools(t, fake.Specs()[0].Local)("workspace_create", map[string]any{"name": "fix"}); failure != "" {
		t.Fatalf("%v %s", made, failure)
	}
	return h
}

func TestASessionNamesAWorkspaceOfItsUser(t *testing.T) {
	t.Parallel()
	h := newHostOfAda(t)
	for name, c := range map[string]struct {
		key  string
		want protocol.Code
	}{
		"another user":        {bobsKey, protocol.CodeNoWorkspace},
		"without a key":       {"", protocol.CodeNoWorkspace},
		"a key that is short": {"short", protocol.CodeInvalid},
	} {
		if _, err := h.open("s1", "fix", c.key); protocol.CodeOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if status, err := h.host.Domain.Status(t.Context()); err != nil || len(status.Sessions) != 1 {
		t.Errorf("a refused session is stored: %+v %v", status.Sessions, err)
	}
	opened, err := h.open("s1", "fix", adasKey)
	if err != nil || !strings.Contains(strings.Join(opened.Capabilities, " "), protocol.CapabilityWorkspaces) {
		t.Fatalf("%+v, %v", opened, err)
	}
	h.turn("s1", opened)
	if spec := h.fake.Specs()[1]; !strings.HasSuffix(spec.Dir, "/@fix") {
		t.Errorf("the agent works in %s", spec.Dir)
	}
	if _, err := h.open("s2", "fix", adasKey); protocol.CodeOf(err) != protocol.CodeConflict {
		t.Errorf("a second session: %v", err)
	}
	if _, failure := tools(t, h.fake.Specs()[0].Local)("workspace_delete", map[string]any{
		"path": h.fake.Specs()[1].Dir, "force": true,
	}); !strings.Contains(failure, "A session works in this workspace") {
		t.Errorf("its creator deletes it by force: %q", failure)
	}
	if _, err := h.host.Domain.Delete(t.Context(), "s1", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := h.open("s2", "fix", adasKey); err != nil {
		t.Errorf("after the first one was deleted: %v", err)
	}
}

func TestAWorkspaceDecidesTheProjectOfItsSession(t *testing.T) {
	t.Parallel()
	h := newHostOfAda(t)
	if _, err := h.host.Domain.Open(t.Context(), &protocol.OpenSessionRequest{
		SessionID: "s1", WebhookURL: "http://127.0.0.1:1/", Workspace: "fix", Project: "blog",
	}, agenthost.Keys{Owner: adasKey}); protocol.CodeOf(err) != protocol.CodeInvalid {
		t.Errorf("another project: %v", err)
	}
	if _, err := h.open("s2", "fix", adasKey); err != nil {
		t.Fatal(err)
	}
	status, err := h.host.Domain.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range status.Sessions {
		if s.Project != "shop" {
			t.Errorf("%s works on %q", s.ID, s.Project)
		}
	}
}

func TestTheHostListsTheWorkspacesOfAKey(t *testing.T) {
	t.Parallel()
	h := newHostOfAda(t)
	for key, want := range map[string]int{adasKey: 1, bobsKey: 0} {
		status, body := h.get("/workspaces", key)
		var list protocol.WorkspaceList
		if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK || len(list.Workspaces) != want {
			t.Errorf("%s: %d %s %v", key, status, body, err)
		}
		for _, w := range list.Workspaces {
			if w.Name != "fix" || w.CreatedBy != "first" || w.Metadata == nil {
				t.Errorf("%+v", w)
			}
		}
	}
	for _, key := range []string{"", "short"} {
		if status, body := h.get("/workspaces", key); status != http.StatusBadRequest || !strings.Contains(body, "invalid") {
			t.Errorf("key %q: %d %s", key, status, body)
		}
	}
	if status, body := h.get("/session/first/workspace", ""); status != http.StatusOK ||
		!strings.Contains(body, `"dirty":false,"metadata":{},"dir":"/`) ||
		!strings.Contains(body, `"ships":["commit","discard","discard-hunk","fetch","push","pull-request"]}`) {
		t.Errorf("the session's own: %d %s", status, body)
	}
	if _, err := h.open("s1", "fix", adasKey); err != nil {
		t.Fatal(err)
	}
	status, body := h.get("/session/s1/workspace", "")
	if status != http.StatusNotFound || !strings.Contains(body, "no workspace yet") {
		t.Errorf("before its first turn: %d %s", status, body)
	}
	if status, _ := h.get("/session/nothing/workspace", ""); status != http.StatusNotFound {
		t.Errorf("no such session: %d", status)
	}
}

// A confirmation holds for what was shown: a workspace that has changed since is kept.
func TestAConfirmationDeletesWhatWasShown(t *testing.T) {
	t.Parallel()
	for _, isOutdated := range []bool{false, true} {
		h := newHostOfAda(t)
		dir := h.fake.Specs()[0].Dir
		write := func(name string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("a"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("a")
		shown, err := h.host.Domain.OnlyCopies(t.Context(), "first")
		if err != nil || shown.Summary(false) != "1 changed file (a)" {
			t.Fatalf("%+v, %v", shown, err)
		}
		if isOutdated {
			write("b")
		}
		kept, err := h.host.Domain.Delete(t.Context(), "first", shown.ID)
		if err != nil || kept.Exist() != isOutdated || isOutdated && kept.Summary(false) != "2 changed files (a, b)" {
			t.Errorf("kept %+v, %v", kept, err)
		}
		if _, err := os.Lstat(dir); isOutdated != (err == nil) || !isOutdated && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("outdated: %t, the workspace: %v", isOutdated, err)
		}
	}
}
