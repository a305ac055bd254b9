package hosts_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"bellhop/broker"
	"bellhop/broker/hosts"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// testKeys has a recognizable key for each session.
type testKeys struct{}

func (testKeys) Key(session string) (seal.Secret, error) {
	return seal.NewSecret("key-of-" + session), nil
}

func (testKeys) OwnerKey(user string) (seal.Secret, error) {
	return seal.NewSecret("key-of-" + user), nil
}

func TestCallsAboutASessionHaveItsKey(t *testing.T) {
	t.Parallel()
	sent := map[string]string{} // by method and path
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent[r.Method+" "+r.URL.Path] = strings.Join(r.Header.Values(protocol.HeaderSessionKey), ",")
		_, _ = io.WriteString(w,
			`{"success":true,"sessionId":"s1","token":"t","events":[],"status":"idle","sessions":[],"files":[]}`)
	}))
	c, to, ctx := newClient(t, hosts.Options{Keys: testKeys{}}), target(url, password), t.Context()
	_, _ = c.Open(ctx, to, openRequest)
	_, _ = c.Events(ctx, to, "s1", broker.EventsAfter{}, 1)
	_, _ = c.Diff(ctx, to, "s1")
	_, _ = c.Workspace(ctx, to, "s1")
	_ = c.Interrupt(ctx, to, "s1", "")
	_ = c.Answer(ctx, to, "s1", "i1", &protocol.AnswerRequest{})
	_ = c.Revoke(ctx, to, "s1")
	_, _ = c.Delete(ctx, to, "s1", "")
	_, _ = c.OnlyCopies(ctx, to, "s1")
	_, _ = c.Session(ctx, to, "s1")
	_, _ = c.Sessions(ctx, to, "b1", "", 1)
	_, _ = c.Reconcile(ctx, to, &protocol.ReconcileRequest{})
	_, _, _ = c.Ready(ctx, to)
	const own = "key-of-s1"
	want := map[string]string{
		"POST /session": own, "GET /session/s1/events": own, "GET /session/s1/diff": own, "POST /session/s1/interrupt": own,
		"POST /session/s1/interactions/i1": own, "POST /session/s1/revoke": own, "DELETE /session/s1": own,
		"GET /session/s1": own, "GET /session/s1/only-copies": own, "GET /session/s1/workspace": own,
		"GET /session": "", "POST /reconcile": "", "GET /readyz": "",
	}
	for call, key := range want {
		if got, called := sent[call]; !called || got != key {
			t.Errorf("%s has %q, called: %v", call, got, called)
		}
	}
	if len(sent) != len(want) {
		t.Errorf("calls: %v", sent)
	}
}

func TestOnlyNamedBrokersBindKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys   hosts.Keys
		broker string
		want   bool
	}{
		"a named broker":        {testKeys{}, "b1", true},
		"without a name":        {testKeys{}, "", false},
		"a broker without keys": {nil, "b1", false},
	} {
		t.Run(name, func(t *testing.T) {
			var got protocol.OpenSessionRequest
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
					t.Error(err)
				}
				_, _ = io.WriteString(w, `{"token":"t"}`)
			}))
			req := *openRequest
			req.BrokerID = c.broker
			if _, err := newClient(t, hosts.Options{Keys: c.keys}).Open(t.Context(), target(url), &req); err != nil {
				t.Fatal(err)
			}
			if got.BindKey != c.want || req.BindKey {
				t.Errorf("sent %v; the caller's request now says %v", got.BindKey, req.BindKey)
			}
		})
	}
}

// A host that is bound to another key says how its operator releases the session. Its text
// never carries the key to a user.
func TestAnotherKeysSessionIsExplained(t *testing.T) {
	t.Parallel()
	url := serve(t,
		answering(http.StatusForbidden,
			`{"error":"key-of-s1 is wrong","code":"session_key","hint":"release key-of-s1 there"}`))
	c := newClient(t, hosts.Options{Keys: testKeys{}})
	wantError(t, c.Revoke(t.Context(), target(url), "s1"), protocol.Error{
		Code: protocol.CodeBadGateway, Message: "The agent host refuses this broker: another key is bound to the session",
		Hint: "release [redacted] there", Relayed: protocol.CodeSessionKey,
	})
	_, err := c.Open(t.Context(), target(url), openRequest)
	wantError(t, err, protocol.Error{
		Code: protocol.CodeBadGateway, Message: "Failed to create agent session", Hint: "release [redacted] there",
		Relayed: protocol.CodeSessionKey,
	})
}

func TestListsOfWorkspacesHaveTheirUsersKey(t *testing.T) {
	t.Parallel()
	sent := map[string]string{} // by path
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent[r.URL.Path] = strings.Join(r.Header.Values(protocol.HeaderOwnerKey), ",")
		_, _ = io.WriteString(w, `{"token":"t","workspaces":[{"name":"fix"}],"workspace":{"branch":"b"}}`)
	}))
	c, to, ctx := newClient(t, hosts.Options{Keys: testKeys{}}), target(url, password), t.Context()
	if list, err := c.Workspaces(ctx, to, "ada"); err != nil || len(list.Workspaces) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if found, err := c.Workspace(ctx, to, "s1"); err != nil || found.Workspace.Branch != "b" {
		t.Errorf("%+v, %v", found, err)
	}
	request := *openRequest
	request.Owner = "ada"
	_, _ = c.Open(ctx, to, &request)
	want := map[string]string{"/workspaces": "key-of-ada", "/session/s1/workspace": "", "/session": "key-of-ada"}
	if !maps.Equal(sent, want) {
		t.Errorf("sent %v", sent)
	}
}

func TestHostsWithoutWorkspaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status    int
		body      string
		list, one protocol.Code
	}{
		"a basic host":      {404, `not found`, protocol.CodeNotFound, protocol.CodeMethodNotAllowed},
		"a host that hides": {401, ``, protocol.CodeNotFound, protocol.CodeMethodNotAllowed},
		"a gateway":         {200, `{"success":true}`, protocol.CodeBadGateway, protocol.CodeBadGateway},
		"a host in trouble": {500, `{"error":"x","code":"internal"}`, protocol.CodeBadGateway, protocol.CodeBadGateway},
		"without a session": {404, `{"error":"x","code":"not_found"}`, protocol.CodeNotFound, protocol.CodeNotFound},
		"a workspace is gone": {
			409, `{"error":"x","code":"no_workspace"}`, protocol.CodeNoWorkspace, protocol.CodeNoWorkspace,
		},
	} {
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		client, to := newClient(t, hosts.Options{}), target(url, password)
		if _, err := client.Workspaces(t.Context(), to, "ada"); protocol.CodeOf(err) != c.list {
			t.Errorf("%s: list: %v", name, err)
		}
		if _, err := client.Workspace(t.Context(), to, "s1"); protocol.CodeOf(err) != c.one {
			t.Errorf("%s: one: %v", name, err)
		}
	}
}
