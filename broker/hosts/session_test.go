package hosts_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"bellhop/broker"
	"bellhop/broker/hosts"
	"bellhop/internal/observe"
	"bellhop/protocol"
)

func TestSessionCalls(t *testing.T) {
	t.Parallel()
	var got string
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = fmt.Sprintf("%s %s %q %s", r.Method, r.URL, r.Header.Get("Authorization"), body)
		if r.URL.Path == "/session" {
			_, _ = io.WriteString(w, `{"sessions":[],"nextAfter":""}`)
			return
		}
		if r.URL.Path == "/reconcile" {
			_, _ = io.WriteString(w, `{"sessions":0,"pending":0,"acknowledged":[]}`)
			return
		}
		_, _ = io.WriteString(w, `{"epoch":3,"events":[{"type":"text"}],"nextAfter":10,"status":"idle"}`)
	}))
	c, to, yes := newClient(t, hosts.Options{}), target(url, "pw"), true
	for _, tt := range []struct {
		name, want string
		call       func() error
	}{
		{"events", `GET /session/s%2F1/events?after=9&epoch=3&last=e9&limit=500&prompts=true "Bearer pw" `, func() error {
			events, err := c.Events(t.Context(), to, "s/1",
				broker.EventsAfter{Cursor: protocol.Cursor{Epoch: 3, Seq: 9}, EventID: "e9"}, 500)
			if err == nil && (events.NextAfter != 10 || len(events.Events) != 1) {
				t.Errorf("got %+v", events)
			}
			return err
		}},
		{"interrupt", `POST /session/s/interrupt "Bearer pw" {}`, func() error { return c.Interrupt(t.Context(), to, "s", "") }},
		{"restart", `POST /session/s/restart "Bearer pw" {}`, func() error {
			_, err := c.Restart(t.Context(), to, "s")
			return err
		}},
		{"answer", `POST /session/s/interactions/i "Bearer pw" {"approved":true}`, func() error {
			return c.Answer(t.Context(), to, "s", "i", &protocol.AnswerRequest{Approved: &yes})
		}},
		{"delete", `DELETE /session/s?onlyCopies=list "Bearer pw" `, func() error {
			_, err := c.Delete(t.Context(), to, "s", "list")
			return err
		}},
		{"sessions", `GET /session?after=a&brokerId=b&limit=9 "Bearer pw" `, func() error {
			_, err := c.Sessions(t.Context(), to, "b", "a", 9)
			return err
		}},
		{"reconcile", `POST /reconcile "Bearer pw" {"brokerId":"b","incarnation":"i","force":true}`, func() error {
			_, err := c.Reconcile(t.Context(), to, &protocol.ReconcileRequest{BrokerID: "b", Incarnation: "i", Force: true})
			return err
		}},
		{"announcements", `PUT /announcements "Bearer pw" {"brokerId":"b","announcements":[]}`, func() error {
			err := c.Announce(t.Context(), to, &protocol.HostAnnouncements{
				BrokerID: "b", Announcements: []protocol.Announcement{},
			})
			if protocol.CodeOf(err) == protocol.CodeBadGateway { // the answer of this server names no broker
				return nil
			}
			return errors.Join(errors.New("taken"), err)
		}},
		{"revoke", `POST /session/s/revoke "Bearer pw" {}`, func() error { return c.Revoke(t.Context(), to, "s") }},
		{"ready sends no password", `GET /readyz "" `, func() error { _, _, err := c.Ready(t.Context(), to); return err }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.call(); err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// The logs of a broker and its hosts are joined by this id.
func TestAHostGetsTheIDOfTheRequestThatItsBrokerServes(t *testing.T) {
	t.Parallel()
	var got []string
	c, to := newClient(t, hosts.Options{}), target(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("X-Request-Id"))
		_, _ = io.WriteString(w, "{}")
	})), password)
	ctx := observe.WithRequest(t.Context(), "r-1", "")
	_ = c.Interrupt(ctx, to, "s", "")
	relayed, err := c.Relay(ctx, to, &broker.RelayRequest{
		SessionID: "s", Method: http.MethodGet, Header: http.Header{"X-Request-Id": {"other"}},
	})
	if err == nil {
		err = relayed.Body.Close()
	}
	_ = c.Interrupt(t.Context(), to, "s", "")
	if want := []string{"r-1", "r-1", ""}; err != nil || !slices.Equal(got, want) {
		t.Errorf("ids %q, want %q (%v)", got, want, err)
	}
}

func TestSessionCallsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		host http.HandlerFunc
		want protocol.Error
	}{
		{
			"the host's own code", answering(409, `{"error":"Answered already","code":"answered","hint":"h"}`),
			protocol.Error{Code: protocol.CodeAnswered, Message: "Answered already", Hint: "h"},
		},
		{
			"no such session", answering(404, `{"error":"No session","code":"not_found"}`),
			protocol.Error{Code: protocol.CodeNotFound, Message: "No session"},
		},
		{
			"the broker's password, not its caller, is refused", answering(401, `{"error":"no","code":"unauthorized"}`),
			protocol.Error{
				Code: protocol.CodeBadGateway, Message: "The agent host failed",
				Hint: "The agent host refused the password: set the one it was started with",
			},
		},
		{
			"the host's own failure", answering(500, `{"error":"Internal error","code":"internal"}`),
			protocol.Error{
				Code: protocol.CodeBadGateway, Message: "The agent host failed",
				Hint: "The agent host answered with status 500: its log says more",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, to := newClient(t, hosts.Options{}), target(serve(t, tt.host), password)
			wantError(t, c.Interrupt(t.Context(), to, "s", ""), tt.want)
			_, err := c.Events(t.Context(), to, "s", broker.EventsAfter{Cursor: protocol.Cursor{Epoch: 1}}, 10)
			wantError(t, err, tt.want)
		})
	}
	t.Run("a 404 that no agent host wrote is no missing session", func(t *testing.T) {
		c, to := newClient(t, hosts.Options{}), target(serve(t, answering(404, `not found`)), password)
		wantError(t, c.Interrupt(t.Context(), to, "s", ""),
			protocol.Error{Code: protocol.CodeMethodNotAllowed, Message: "The agent host cannot interrupt"})
		_, err := c.Events(t.Context(), to, "s", broker.EventsAfter{Cursor: protocol.Cursor{Epoch: 1}}, 10)
		wantError(t, err, protocol.Error{
			Code: protocol.CodeBadGateway, Message: "The agent host failed",
			Hint: "Check the agent URL: nothing there answers as an agent host",
		})
	})
}

// A turn is closed as lost when its host says that it does not work on it. Only the host can say so.
func TestEventsThatNoHostWroteAreNoAnswer(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"no", `{"success":true}`, `{}`, `{"events":null}`} {
		_, err := newClient(t, hosts.Options{}).Events(t.Context(), target(serve(t, answering(200, body))), "s",
			broker.EventsAfter{Cursor: protocol.Cursor{Epoch: 1}}, 10)
		wantError(t, err, protocol.Error{
			Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server",
			Hint: "Check the agent URL: nothing there answers as an agent host",
		})
	}
	_, err := newClient(t, hosts.Options{}).Events(t.Context(),
		target(serve(t, answering(200, `{"epoch":1,"events":[],"nextAfter":0,"status":"none"}`))), "s",
		broker.EventsAfter{}, 10)
	if err != nil {
		t.Error(err)
	}
}

func TestReadinessIsTheHostsHealth(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		host http.HandlerFunc
		want broker.HostHealth
		code protocol.Code
	}{
		{"ready", answering(200, `{"status":"ready"}`), broker.HostOK, ""},
		{"little room", answering(200, `{"status":"ready","storage":"low"}`), broker.HostLowSpace, ""},
		{
			"a full disk", answering(507, `{"error":"The agent host's disk is full","code":"storage_full"}`),
			broker.HostFull, "",
		},
		{"200 in another shape", answering(200, `fine`), broker.HostOK, ""},
		{"a basic host without the route", answering(404, `Cannot GET /readyz`), broker.HostOK, ""},
		{"a basic host that asks for a credential", answering(401, ``), broker.HostOK, ""},
		{"not ready", answering(503, `{"error":"The host is not ready","code":"unavailable"}`), "", protocol.CodeBadGateway},
	} {
		got, _, err := newClient(t, hosts.Options{}).Ready(t.Context(), target(serve(t, tt.host)))
		if got != tt.want || protocol.CodeOf(err) != tt.code && tt.code != "" || err != nil && tt.code == "" {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
}

// When a gateway answers a call in its host's place, the call is doubtful. A host names the
// session in its answer; after a DELETE without it the client asks the host for the session.
func TestOnlyAHostConfirmsACall(t *testing.T) {
	t.Parallel()
	const lie, named = `{"success":true}`, `{"success":true,"sessionId":"s"}`
	page := func(members string) http.HandlerFunc {
		return answering(200, `{"epoch":1,"events":[],"nextAfter":0,"status":"idle"`+members+`}`)
	}
	for name, tt := range map[string]struct {
		answer string
		state  http.HandlerFunc // of GET /session/s/events
		basic  bool
		delete bool // only DELETE
		sure   bool // the call counts as done
	}{
		"a host":                       {answer: named, state: answering(500, ""), sure: true},
		"a host that names no session": {answer: lie, state: page("")},
		"a DELETE that names no session": {
			answer: `{"success":true,"worktreeKept":false}`, state: page(""), delete: true,
		},
		"a basic host":                {answer: lie, state: answering(404, ""), basic: true, sure: true},
		"a gateway before a host":     {answer: lie, state: page(`,"sessionId":"s"`)},
		"a gateway's page":            {answer: "<html>", state: page(`,"sessionId":"s"`)},
		"a gateway that lies twice":   {answer: lie, state: answering(200, lie)},
		"a gateway, the host is away": {answer: lie, state: answering(503, "")},
		"a session of another name":   {answer: `{"success":true,"sessionId":"t"}`, state: page(`,"sessionId":"s"`)},
		"a gateway, the session is gone": {
			answer: lie, state: answering(404, `{"error":"no","code":"not_found"}`),
			delete: true, sure: true,
		},
		"a gateway, an unknown page":        {answer: lie, state: answering(404, `<html>`), delete: true},
		"the state of another session":      {answer: lie, state: page(`,"sessionId":"t"`)},
		"an empty answer of such a gateway": {answer: ``, state: page(`,"sessionId":"s"`)},
	} {
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				tt.state(w, r)
				return
			}
			answering(200, tt.answer)(w, r)
		}))
		to := target(url)
		to.Events = !tt.basic
		c := newClient(t, hosts.Options{})
		_, deleteErr := c.Delete(t.Context(), to, "s", "")
		calls := map[string]error{"delete": deleteErr}
		if !tt.delete {
			calls["interrupt"] = c.Interrupt(t.Context(), to, "s", "")
			_, calls["restart"] = c.Restart(t.Context(), to, "s")
			calls["answer"] = c.Answer(t.Context(), to, "s", "q", &protocol.AnswerRequest{})
			calls["revoke"] = c.Revoke(t.Context(), to, "s")
		}
		for call, err := range calls {
			if (err == nil) != tt.sure {
				t.Errorf("%s, %s: %v", name, call, err)
			}
			if err != nil && (!errors.Is(err, broker.ErrDoubtful) || protocol.CodeOf(err) != protocol.CodeBadGateway) {
				t.Errorf("%s, %s: %v is not doubtful", name, call, err)
			}
		}
	}
}

// A basic host may refuse a query that it does not know.
func TestOnlyAHostWithEventsIsAskedToStopOneTurn(t *testing.T) {
	t.Parallel()
	var got []string
	to := target(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.String())
		_, _ = io.WriteString(w, `{"success":true,"sessionId":"s"}`)
	})), "pw")
	c := newClient(t, hosts.Options{})
	for _, events := range []bool{false, true} {
		to.Events = events
		if err := c.Interrupt(t.Context(), to, "s", "t"); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"/session/s/interrupt", "/session/s/interrupt?turnId=t"}; !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}
}
