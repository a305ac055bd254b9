package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"bellhop/client"
	"bellhop/protocol"
)

// asked serves one response and records the request.
func asked(t *testing.T, status int, body string) (c *client.Client, last *string, url string) {
	t.Helper()
	last = new(string)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		*last = strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("Authorization"), got))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(ts.Close)
	return newClient(t, ts.URL), last, ts.URL
}

func newClient(t *testing.T, url string) *client.Client {
	t.Helper()
	c := client.New(url, client.Options{Token: "bhp_canary"})
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func TestCalls(t *testing.T) {
	t.Parallel()
	yes, after, since := true, int64(5), int64(7)
	onlyCopies := &protocol.OnlyCopies{ID: "list", Items: []protocol.OnlyCopy{{Kind: protocol.OnlyIgnored, Name: ".env", Count: 1}}}
	for _, tt := range []struct {
		name, raw, asked string
		call             func(c *client.Client) (any, error)
		want             any
	}{
		{
			"sign in", `{"user":{"id":"u"}}`, `POST /api/auth/login Bearer bhp_canary {"email":"a@b.c","password":"p"}`,
			func(c *client.Client) (any, error) { return nil, c.SignIn(t.Context(), "a@b.c", "p") }, nil,
		},
		{
			"sign in with a code", `{"user":{"id":"u"}}`,
			`POST /api/auth/login Bearer bhp_canary {"code":"123456","email":"a@b.c","password":"p"}`,
			func(c *client.Client) (any, error) { return nil, c.SignInWithCode(t.Context(), "a@b.c", "p", "123456") }, nil,
		},
		{
			"sign in by link", `{}`, `POST /api/auth/login Bearer bhp_canary {"link":"once"}`,
			func(c *client.Client) (any, error) {
				return nil, c.SignInByLink(t.Context(), "http://127.0.0.1/#link=once")
			}, nil,
		},
		{
			"me", `{"user":{"id":"u","email":"a@b.c","admin":true}}`, `GET /api/auth/me Bearer bhp_canary`,
			func(c *client.Client) (any, error) { return c.Me(t.Context()) }, &client.User{ID: "u", Email: "a@b.c", Admin: true},
		},
		{
			"agents", `{"agents":[{"id":"demo","title":"Demo","hostIds":["h"]}],"hosts":[]}`,
			`GET /api/agents Bearer bhp_canary`, func(c *client.Client) (any, error) { return c.Agents(t.Context()) },
			&protocol.OfferList{
				Agents: []protocol.OfferedChoice{{ID: "demo", Title: "Demo", HostIDs: []string{"h"}}},
				Hosts:  []protocol.OfferingHost{},
			},
		},
		{
			"workspaces", `{"hosts":[{"hostId":"h","name":"one","workspaces":[]}]}`, `GET /api/workspaces Bearer bhp_canary`,
			func(c *client.Client) (any, error) { return c.Workspaces(t.Context()) },
			&protocol.HostWorkspaceList{
				Hosts: []protocol.WorkspaceHost{{HostID: "h", Name: "one", Workspaces: []protocol.Workspace{}}},
			},
		},
		{
			"workspace of a task", `{"workspace":{"branch":"b","dirty":true,"metadata":{}}}`,
			`GET /api/tasks/t%2F1/workspace Bearer bhp_canary`,
			func(c *client.Client) (any, error) { return c.TaskWorkspace(t.Context(), "t/1") },
			&protocol.SessionWorkspace{
				Workspace: &protocol.WorkspaceState{Branch: "b", Dirty: true, Metadata: map[string]string{}},
			},
		},
		{
			"usage of a task", `{"turns":2,"unreported":1,"usage":{"inputTokens":10,"costUSD":0.5}}`,
			`GET /api/tasks/t%2F1/usage Bearer bhp_canary`,
			func(c *client.Client) (any, error) { return c.TaskUsage(t.Context(), "t/1") },
			&protocol.TaskUsage{Turns: 2, Unreported: 1, Usage: protocol.Usage{InputTokens: 10, CostUSD: 0.5}},
		},
		{
			"create token", `{"token":"bhp_new"}`, `POST /api/tokens Bearer bhp_canary {"name":"n","scopes":["hosts"]}`,
			func(c *client.Client) (any, error) {
				return c.CreateToken(t.Context(), &client.NewToken{Name: "n", Scopes: []string{"hosts"}})
			}, "bhp_new",
		},
		{
			"create task", `{"id":"t"}`, `POST /api/tasks Bearer bhp_canary {"title":"x","agent":"demo"}`,
			func(c *client.Client) (any, error) {
				return c.CreateTask(t.Context(), &protocol.CreateTaskRequest{Title: "x", Agent: "demo"})
			}, &protocol.Task{ID: "t"},
		},
		{
			"tasks", `{"tasks":[{"id":"t"}],"nextCursor":"n"}`,
			`GET /api/tasks?archived=true&cursor=c&limit=5&q=word&state=failed Bearer bhp_canary`,
			func(c *client.Client) (any, error) {
				return c.Tasks(t.Context(), client.TaskQuery{Cursor: "c", Limit: 5, Q: "word", Archived: &yes, State: "failed"})
			}, &protocol.TaskList{Tasks: []protocol.Task{{ID: "t"}}, NextCursor: "n"},
		},
		{
			"task", `{"id":"a/b"}`, `GET /api/tasks/a%2Fb Bearer bhp_canary`,
			func(c *client.Client) (any, error) { return c.Task(t.Context(), "a/b") }, &protocol.Task{ID: "a/b"},
		},
		{
			"only copies", `{"id":"list","items":[{"kind":"ignored","name":".env","count":1}]}`,
			`GET /api/tasks/t/only-copies Bearer bhp_canary`,
			func(c *client.Client) (any, error) { return c.OnlyCopies(t.Context(), "t") }, onlyCopies,
		},
		{
			"delete task", `{"success":true}`, `DELETE /api/tasks/t Bearer bhp_canary`,
			func(c *client.Client) (any, error) { return c.DeleteTask(t.Context(), "t", "") }, (*protocol.OnlyCopies)(nil),
		},
		{
			"delete task with its workspace",
			`{"success":true,"kept":{"id":"list","items":[{"kind":"ignored","name":".env","count":1}]}}`,
			`DELETE /api/tasks/t?onlyCopies=other Bearer bhp_canary`,
			func(c *client.Client) (any, error) { return c.DeleteTask(t.Context(), "t", "other") }, onlyCopies,
		},
		{
			"messages", `{"messages":[],"nextAfter":5,"rev":9}`,
			`GET /api/tasks/t/messages?after=5&limit=2&since=7 Bearer bhp_canary`,
			func(c *client.Client) (any, error) {
				return c.Messages(t.Context(), "t", client.MessageQuery{After: &after, Since: &since, Limit: 2})
			}, &protocol.MessageList{Messages: []protocol.Message{}, NextAfter: 5, Rev: 9},
		},
		{
			"interactions", `{"interactions":[{"id":"i"}]}`, `GET /api/interactions?state=open Bearer bhp_canary`,
			func(c *client.Client) (any, error) { return c.Interactions(t.Context(), protocol.InteractionOpen) },
			[]protocol.Interaction{{ID: "i"}},
		},
		{
			"answer", `{"id":"i"}`, `POST /api/interactions/i Bearer bhp_canary {"approved":true}`,
			func(c *client.Client) (any, error) {
				return nil, c.Answer(t.Context(), "i", &protocol.AnswerRequest{Approved: &yes})
			}, nil,
		},
		{
			"interrupt", `{"success":true,"closeStream":true}`, `POST /api/agent/interrupt Bearer bhp_canary {"taskId":"t"}`,
			func(c *client.Client) (any, error) { return c.Interrupt(t.Context(), "t") },
			&protocol.InterruptResponse{Success: true, CloseStream: true},
		},
		{
			"restart", `{"success":true,"sessionId":"t","endedTurn":"u"}`,
			`POST /api/agent/restart Bearer bhp_canary {"taskId":"t"}`,
			func(c *client.Client) (any, error) { return c.Restart(t.Context(), "t") },
			&protocol.RestartResponse{Success: true, SessionID: "t", EndedTurn: "u"},
		},
		{
			"diff", `{"success":true,"noDiffs":true}`, `POST /api/agent/diff Bearer bhp_canary {"taskId":"t"}`,
			func(c *client.Client) (any, error) { return c.Diff(t.Context(), "t") },
			&protocol.DiffResponse{Success: true, NoDiffs: true},
		},
		{
			"hosts", `{"hosts":[{"id":"h"}]}`, `GET /api/hosts Bearer bhp_canary`,
			func(c *client.Client) (any, error) { return c.Hosts(t.Context()) },
			[]protocol.Host{{ID: "h"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, last, _ := asked(t, 200, tt.raw)
			got, err := tt.call(c)
			if err != nil {
				t.Fatal(err)
			}
			if *last != tt.asked {
				t.Errorf("asked\n got %s\nwant %s", *last, tt.asked)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestErrorsHaveTheServersCodeAndMessage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		status     int
		want       *protocol.Error
	}{
		{
			"the one shape", `{"error":"Task not found","code":"not_found","hint":"h"}`,
			404, &protocol.Error{Code: "not_found", Message: "Task not found", Hint: "h"},
		},
		{
			"a failed check-in says which message",
			`{"error":"Failed to create agent session","code":"bad_gateway","messageId":"m"}`, 502,
			&protocol.Error{
				Code: "bad_gateway", Message: "Failed to create agent session", Fields: map[string]any{"messageId": "m"},
			},
		},
		{"a proxy's own page", `<html>`, 502, &protocol.Error{Code: "bad_gateway", Message: "status 502"}},
		{"a redirect", ``, 302, &protocol.Error{Code: "invalid", Message: "status 302"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _, url := asked(t, tt.status, tt.body)
			_, err := c.Task(t.Context(), "t")
			var got *protocol.Error
			if !errors.As(err, &got) || !reflect.DeepEqual(got, tt.want) || client.StatusOf(err) != tt.status {
				t.Errorf("got %+v (status %d), want %+v", got, client.StatusOf(err), tt.want)
			}
			if err.Error() != url+": "+tt.want.Message {
				t.Errorf("got %q", err)
			}
		})
	}
}

func TestFailedConnections(t *testing.T) {
	t.Parallel()
	ts := httptest.NewServer(http.NotFoundHandler())
	url := ts.URL
	ts.Close()
	_, err := newClient(t, url).Task(t.Context(), "t")
	if protocol.CodeOf(err) != protocol.CodeUnavailable || client.StatusOf(err) != 0 ||
		!strings.HasPrefix(err.Error(), url+": the connection failed") {
		t.Errorf("no server: %v", err)
	}
	if _, err := newClient(t, "localhost:7700").Task(t.Context(), "t"); protocol.CodeOf(err) != protocol.CodeInvalid {
		t.Errorf("no URL: %v", err)
	}
	c, _, _ := asked(t, 200, "<html>")
	if _, err := c.Task(t.Context(), "t"); protocol.CodeOf(err) != protocol.CodeBadGateway {
		t.Errorf("no broker: %v", err)
	}
}

func TestSessionCookieStaysWithTheBroker(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/auth/login", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "canary", Path: "/", HttpOnly: true})
	})
	var cookies []string
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		cookies = append(cookies, r.URL.Path+" "+r.Header.Get("Cookie"))
		if r.URL.Path == "/api/agent/attach" {
			_, _ = fmt.Fprintf(w, `{"streamUrl":"http://%s/stream/t","capabilities":["events"]}`, r.Host)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	ts := httptest.NewServer(mux)
	t.Cleanup(ts.Close)
	c := newClient(t, ts.URL)
	if err := c.SignIn(t.Context(), "a@b.c", "p"); err != nil {
		t.Fatal(err)
	}
	stream, err := c.Watch(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := read(stream.Events(t.Context())); got != "" {
		t.Errorf("read %s, %v", got, err)
	}
	if want := []string{"/api/agent/attach session=canary", "/stream/t "}; !reflect.DeepEqual(cookies, want) {
		t.Errorf("got %q, want %q", cookies, want)
	}
}

func TestHistoryReadsAllPages(t *testing.T) {
	t.Parallel()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("after") {
		case "0":
			_, _ = io.WriteString(w, `{"messages":[{"seq":1},{"seq":2}],"nextAfter":2}`)
		case "2":
			_, _ = io.WriteString(w, `{"messages":[{"seq":3}],"nextAfter":3}`)
		default:
			_, _ = io.WriteString(w, `{"messages":[],"nextAfter":3}`)
		}
	}))
	t.Cleanup(ts.Close)
	var seqs []int64
	for message, err := range newClient(t, ts.URL).History(t.Context(), "t") {
		if err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, message.Seq)
	}
	if !reflect.DeepEqual(seqs, []int64{1, 2, 3}) {
		t.Errorf("got %v", seqs)
	}
}
