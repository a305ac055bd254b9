package hosts_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"bellhop/broker"
	"bellhop/broker/hosts"
	"bellhop/internal/testenv/lies"
	"bellhop/protocol"
)

// calls are all calls of a host. Each returns its result, and its error.
var calls = map[string]func(context.Context, *hosts.Client, broker.Target) (any, error){
	"Open": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.Open(ctx, t, openRequest)
	},
	"Events": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.Events(ctx, t, "s1", broker.EventsAfter{}, 10)
	},
	"Interrupt": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return nil, c.Interrupt(ctx, t, "s1", "t1")
	},
	"Restart": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.Restart(ctx, t, "s1")
	},
	"Diff": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) { return c.Diff(ctx, t, "s1") },
	"Workspace": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.Workspace(ctx, t, "s1")
	},
	"Answer": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return nil, c.Answer(ctx, t, "s1", "q1", &protocol.AnswerRequest{})
	},
	"Delete": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.Delete(ctx, t, "s1", "")
	},
	"Revoke": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return nil, c.Revoke(ctx, t, "s1")
	},
	"RevokeCredentials": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return nil, c.RevokeCredentials(ctx, t, &protocol.RevokeRequest{BrokerID: "b1"})
	},
	"SessionPaths": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.SessionPaths(ctx, t, "s1", "q")
	},
	"SessionCommands": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.SessionCommands(ctx, t, "s1")
	},
	"Directory": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.Directory(ctx, t, "s1", "", "")
	},
	"File": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.File(ctx, t, "s1", "a", 0)
	},
	"SearchFiles": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.SearchFiles(ctx, t, "s1", protocol.FileSearch{Query: "q"})
	},
	"Commit": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.Commit(ctx, t, "s1", &protocol.CommitRequest{})
	},
	"Discard": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.Discard(ctx, t, "s1", &protocol.DiscardRequest{})
	},
	"Fetch": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.Fetch(ctx, t, "s1", nil)
	},
	"Push": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.Push(ctx, t, "s1", &protocol.PushRequest{}, nil)
	},
	"PullRequest": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.PullRequest(ctx, t, "s1", &protocol.PullRequestRequest{}, nil)
	},
	"Session": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.Session(ctx, t, "s1")
	},
	"Ready": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		_, _, err := c.Ready(ctx, t)
		return nil, err
	},
	"Life": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		_, err := c.Life(ctx, t)
		return nil, err
	},
	"Offer": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) { return c.Offer(ctx, t) },
	"Announce": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return nil, c.Announce(ctx, t, &protocol.HostAnnouncements{BrokerID: "b1"})
	},
	"Reconcile": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.Reconcile(ctx, t, &protocol.ReconcileRequest{})
	},
	"Sessions": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.Sessions(ctx, t, "b1", "", 10)
	},
	"Installations": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.Installations(ctx, t)
	},
	"Install": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.Install(ctx, t, &protocol.InstallRequest{Program: "p"})
	},
	"CancelInstallation": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.CancelInstallation(ctx, t, "p")
	},
	"ProjectPaths": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.ProjectPaths(ctx, t, "p", "", "q")
	},
	"Workspaces": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		return c.Workspaces(ctx, t, "u")
	},
	"Shell": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		conn, err := c.Shell(ctx, t, "s1", "https://console.example")
		if conn == nil {
			return nil, err
		}
		conn.Close()
		return conn, err
	},
	"Relay": func(ctx context.Context, c *hosts.Client, t broker.Target) (any, error) {
		resp, err := c.Relay(ctx, t, &broker.RelayRequest{SessionID: "s1", Method: http.MethodGet, Header: http.Header{}, Body: http.NoBody})
		if err != nil {
			return nil, err
		}
		defer func() { _ = resp.Body.Close() }()
		return resp, err
	},
}

// host answers every call as a host would. A session is named by the path; it also answers for s2.
func host(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(protocol.HeaderRequest, r.Header.Get(protocol.HeaderRequest))
	w.Header().Set(protocol.HeaderLife, protocol.Life{Host: "h1", ID: "l1"}.String())
	if strings.HasPrefix(r.URL.Path, "/stream/") {
		_, _ = io.WriteString(w, "data: {}\n\n")
		return
	}
	id := "s1"
	if strings.HasPrefix(r.URL.Path, "/session/s2") {
		id = "s2"
	}
	files, acknowledged, sessions := "[]", "[]", "[]"
	switch {
	case r.URL.Path == "/reconcile":
		sessions = "0"
	case strings.HasPrefix(r.URL.Path, "/session/"):
		acknowledged = "{}"
	}
	switch path.Base(r.URL.Path) {
	case "commit", "discard", "search":
		files = "1"
	}
	_, _ = fmt.Fprintf(w, `{"success":true,"sessionId":%q,"token":"token-of-%[1]s","streamUrl":"https://h.example/stream/%[1]s",
		"capabilities":["events","named-answers"],"brokerId":"b1","events":[],"status":"idle","files":%[2]s,"paths":[],"commands":[],
		"entries":[],"kind":"text","matches":[],"acknowledged":%[3]s,"sessions":%[4]s,
		"agents":[],"projects":[],"installations":[],"program":"p","state":"running","workspaces":[],"commit":"c",
		"branch":"b","url":"https://f.example/1","workspace":{}}`, id, files, acknowledged, sessions)
}

// Nothing is concluded from an answer that does not repeat the request's name, if the host repeats them: no session is
// taken for ended, no question for answered, and no token is passed on.
func TestNoAnswerOfSomethingElseIsTheHosts(t *testing.T) {
	t.Parallel()
	all := lies.All()
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lie atomic.Pointer[lies.Lie]
			gateway := &lies.Gateway{Next: http.HandlerFunc(host), Lies: func(*http.Request) *lies.Lie { return lie.Load() }}
			c := newClient(t, hosts.Options{})
			at := target(serve(t, gateway), password)
			at.Events, at.Names = true, true
			if name != "Shell" { // which is a WebSocket
				if _, err := call(t.Context(), c, at); err != nil {
					t.Fatalf("the host's own answer: %v", err)
				}
			}
			if _, err := c.Diff(t.Context(), at, "s2"); err != nil { // to be swapped
				t.Fatal(err)
			}
			for i := range all {
				lie.Store(&all[i])
				got, err := call(t.Context(), c, at)
				if got != nil && !reflect.ValueOf(got).IsNil() {
					t.Errorf("%s: got %+v", all[i].Name, got)
				}
				if protocol.CodeOf(err) != protocol.CodeBadGateway {
					t.Errorf("%s: %v", all[i].Name, err)
				}
			}
			if told := gateway.Told(); told < len(all)-1 {
				t.Errorf("%d lies were told", told)
			}
			lie.Store(nil)
			if _, err := call(t.Context(), c, at); err != nil && name != "Shell" {
				t.Errorf("after the lies: %v", err)
			}
		})
	}
}

// The host decides whether its answers are named when it opens a session: one of an earlier version names none.
func TestAHostOfAnEarlierVersionIsBelieved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer string
		code   protocol.Code
	}{
		"without the capability":       {`{"token":"t","streamUrl":"https://h.example/stream/s1","capabilities":["events"]}`, ""},
		"with another session's URL":   {`{"token":"t","streamUrl":"https://h.example/stream/s2","capabilities":["events"]}`, protocol.CodeBadGateway},
		"with the capability, unnamed": {`{"sessionId":"s1","token":"t","capabilities":["events","named-answers"]}`, protocol.CodeBadGateway},
		"a basic server in its place":  {`{"token":"t"}`, protocol.CodeBadGateway},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := target(serve(t, answering(http.StatusOK, c.answer)), password)
			at.Events, at.Names = true, true // as it was before
			_, err := newClient(t, hosts.Options{}).Open(t.Context(), at, openRequest)
			if protocol.CodeOf(err) != c.code || c.code != "" && !errors.Is(err, broker.ErrDoubtful) {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("its refusals", func(t *testing.T) {
		t.Parallel()
		at := target(serve(t, answering(http.StatusNotFound, `{"error":"No such session","code":"not_found"}`)), password)
		at.Events = true
		_, err := newClient(t, hosts.Options{}).Diff(t.Context(), at, "s1")
		if protocol.CodeOf(err) != protocol.CodeNotFound {
			t.Errorf("%v", err)
		}
	})
}
