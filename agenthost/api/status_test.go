package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/api"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

func TestStatusDescribesTheHost(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	status, _, body := h.call(request{"GET", "/status", "", []string{bearerPassword}})
	if status != http.StatusOK {
		t.Errorf("got %d", status)
	}
	expectEqual(t, "body", body,
		`{"startedAt":"2026-03-01T12:00:00Z","openTurns":0,"unacknowledged":0,"sessions":[],"workspaces":[],"diskBytes":0,"deadLetters":[],"notices":[],"version":"v9"}`)
}

func TestStatusEventsReportChanges(t *testing.T) {
	t.Parallel()
	var served *api.API
	h := newHost(t, func(a *api.API, _ *http.Server) {
		a.StatusEvery, served = time.Millisecond, a
	})
	s := h.stream(request{"GET", "/status/events", "", []string{bearerPassword}})
	next := func() (status agenthost.HostStatus) {
		t.Helper()
		frame, err := s.reader.Next()
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(frame.Data, &status); err != nil || frame.Event != "status" || frame.ID != "" {
			t.Fatalf("%+v: %v", frame, err)
		}
		return status
	}
	if first := next(); first.OpenTurns != 0 || len(first.Sessions) != 0 {
		t.Errorf("at once: %+v", first)
	}
	turn := h.prompt("s1", h.announce("s1", "t1"), "text a\nwait gate")
	turn.readUntil(protocol.PartTextDelta)
	for status := next(); status.OpenTurns != 1; status = next() {
	}
	h.fake.Release("gate")
	for status := next(); status.OpenTurns != 0; status = next() {
	}
	turn.readAll()
	served.End()
	served.End()
	for {
		if _, err := s.reader.Next(); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("the end: %v", err)
			}
			return
		}
	}
}

// Reliability AUTH-6: the test sends secrets through every route and every refusal.
// No log line may contain them, and no response except the one that issues a token.
func TestNoSecretIsLogged(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	secrets := []string{password, "canary-webhook-token", "canary-wrong-token", "canary-wrong-password", token}
	var answers strings.Builder
	call := func(q request) {
		_, header, body := h.call(q)
		for name, values := range header {
			answers.WriteString(name + strings.Join(values, " "))
		}
		answers.WriteString(body)
	}
	for _, q := range passwordRoutes {
		for _, header := range []string{
			"Authorization: Bearer canary-wrong-password", "Authorization: Basic canary-wrong-password",
		} {
			q.header = []string{header}
			call(q)
		}
	}
	for _, credential := range []string{"canary-wrong-token", token, token + "&token=" + token, "%zz" + token, password} {
		for _, q := range []request{
			{"GET", "/stream/s9?token=", "", nil},
			{"PUT", "/stream/s1?token=", "", nil},
			{"GET", "/nothing?token=", "", nil},
			{"OPTIONS", "/stream/s1?token=", "", []string{"Origin: " + console, "Access-Control-Request-Method: GET"}},
			{"POST", "/stream/s1?token=", `{"prompt":`, nil},
			{"POST", "/session/s1/interactions/x?token=", `{"approved":true}`, nil},
			{"GET", "/stream/s1?after=" + token + "&token=", "", nil},
		} {
			q.path += credential
			call(q)
		}
	}
	call(request{
		"POST", "/session",
		`{"sessionId":"s3","webhookUrl":"https://x:y/?token=canary-webhook-token"}`,
		[]string{bearerPassword},
	})
	h.prompt("s1", token, "text hello").readAll()
	h.finishedEvents("s1")
	call(request{"GET", "/status", "", []string{bearerPassword}})
	call(request{"GET", "/session/s1/events", "", []string{bearerPassword}})
	call(request{"POST", "/session/s1/revoke", "", []string{bearerPassword}})
	call(request{"DELETE", "/session/s1", "", []string{bearerPassword}})
	h.stop()
	for _, secret := range secrets {
		if log := h.log.String(); strings.Contains(log, secret) {
			at := strings.Index(log, secret)
			t.Errorf("the log shows a secret: …%s", log[max(0, at-200):at+len(secret)])
		}
		if strings.Contains(answers.String(), secret) {
			t.Errorf("an answer shows a secret")
		}
	}
	if !strings.Contains(h.log.String(), `"path":"/stream/s1"`) {
		t.Error("nothing was logged")
	}
}

func TestAHostThatDescribesNothingAnswers404(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	status, _, body := h.call(request{"GET", "/offer", "", []string{bearerPassword}})
	if status != http.StatusNotFound {
		t.Errorf("%d %s", status, body)
	}
	h = newHost(t, func(a *api.API, _ *http.Server) {
		a.Offer = func(context.Context) (*protocol.HostOffer, error) {
			return &protocol.HostOffer{
				DefaultAgent: "demo", Agents: []protocol.OfferedAgent{}, Projects: []protocol.OfferedProject{},
				PermissionModes: []protocol.PermissionMode{},
			}, nil
		}
	})
	status, _, body = h.call(request{"GET", "/offer", "", []string{bearerPassword}})
	if status != http.StatusOK {
		t.Errorf("%d", status)
	}
	expectEqual(t, "body", body, `{"defaultAgent":"demo","agents":[],"projects":[],"permissionModes":[]}`)
}

func TestTheStatusDescribesWorkspaces(t *testing.T) {
	t.Parallel()
	describe := func(_ context.Context, path string) (*agenthost.WorkspaceDescription, error) {
		if strings.HasSuffix(path, "s3") {
			return nil, protocol.Errorf(protocol.CodeNotFound, "No such workspace")
		}
		return &agenthost.WorkspaceDescription{Branch: "main", Dirty: true, Metadata: map[string]string{"note": "x"}}, nil
	}
	h := newHost(t, func(a *api.API, _ *http.Server) { a.Describe, a.OperatorKey = describe, seal.NewSecret(operatorKey) })
	h.bind("s1", ownKey)
	h.prompt("s1", h.announceKeyed("t1"), "text a").readAll()
	for _, session := range []string{"s2", "s3"} {
		h.prompt(session, h.announce(session, "t1"), "text a").readAll()
	}
	described := func(header ...string) string {
		_, _, body := h.call(request{"GET", "/status", "", append(header, bearerPassword)})
		var status agenthost.HostStatus
		if err := json.Unmarshal([]byte(body), &status); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, w := range status.Workspaces {
			if w.WorkspaceDescription != nil {
				out = append(out, fmt.Sprintf("%s %s %t %v", w.Sessions[0], w.Branch, w.Dirty, w.Metadata))
			}
		}
		return strings.Join(out, ", ")
	}
	const unbound = "s2 main true map[note:x]"
	expectEqual(t, "with the password alone", described(), unbound)
	expectEqual(t, "by the operator", described(keyHeader(operatorKey)), "s1 main true map[note:x], "+unbound)
}
