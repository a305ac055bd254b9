package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/agenthost/api"
	"bellhop/protocol"
)

func TestEachRouteThatChangesSomethingSaysWhatACopyDoes(t *testing.T) {
	t.Parallel()
	e := echo.New()
	(&api.API{}).Routes(e)
	var registered, said []string
	for _, r := range e.Routes() {
		if !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions, echo.RouteNotFound}, r.Method) {
			registered = append(registered, r.Method+" "+r.Path)
		}
	}
	for route, says := range api.Repeats() {
		said = append(said, route)
		if len(says) != 1 {
			t.Errorf("%s says %q, want one thing", route, says)
		}
	}
	slices.Sort(registered)
	slices.Sort(said)
	if !slices.Equal(registered, said) {
		t.Errorf("routes that change something: %q\nthat say what a copy does: %q", registered, said)
	}
}

// act sends a request with the key of an act that the broker saw at a time.
func (h *host) act(method, path, body, key string, seen time.Time) (status int, answer string) {
	h.t.Helper()
	status, _, answer = h.call(request{method, path, body, []string{
		bearerPassword, protocol.HeaderAct + ": " + key, protocol.HeaderFirstSeen + ": " + seen.Format(time.RFC3339Nano),
	}})
	return status, answer
}

func TestALateRestartEndsNoLaterTurn(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	first := h.prompt("s1", h.announce("s1", "t1"), "text a\nhang")
	if part, err := first.next(); err != nil || part == nil {
		t.Fatal(part, err)
	}
	seen := h.clock.Now()
	status, answer := h.act("POST", "/session/s1/restart", "", "k1", seen)
	if want := `{"success":true,"sessionId":"s1","endedTurn":"t1"}`; status != http.StatusOK || answer != want {
		t.Fatalf("the restart: %d %s", status, answer)
	}
	second := h.prompt("s1", h.announce("s1", "t2"), "text b\nhang")
	if part, err := second.next(); err != nil || part == nil {
		t.Fatal(part, err)
	}
	for _, later := range []time.Duration{time.Second, time.Minute, time.Hour} {
		h.clock.Advance(later)
		if status, again := h.act("POST", "/session/s1/restart", "", "k1", seen); status != http.StatusOK || again != answer {
			t.Errorf("a copy after %v: %d %s", later, status, again)
		}
	}
	_, _, described := h.call(request{"GET", "/session/s1", "", []string{bearerPassword}})
	if !strings.Contains(described, `"openTurn":"t2"`) {
		t.Errorf("after the copies: %s", described)
	}
	status, answer = h.act("POST", "/session/s1/restart", "", "k2", h.clock.Now())
	if status != http.StatusOK || !strings.Contains(answer, `"endedTurn":"t2"`) {
		t.Errorf("another act: %d %s", status, answer)
	}
}

func TestACheckInAfterWhichAnotherCameIsRefused(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	open := func(key, turn, mode string) int {
		status, _ := h.act("POST", "/session", fmt.Sprintf(`{"sessionId":"s1","webhookUrl":"http://127.0.0.1:1/","brokerId":"b1",
			"permissionMode":%q,"turn":{"id":%q}}`, mode, turn), key, h.clock.Now())
		return status
	}
	want := func(what string, got, status int) {
		t.Helper()
		if got != status {
			t.Errorf("%s: %d, want %d", what, got, status)
		}
	}
	want("the first", open("k1", "t1", "auto"), 200)
	want("its copy", open("k1", "t1", "auto"), 200)
	want("the second", open("k2", "t2", "ask"), 200)
	want("a late copy of the first", open("k1", "t1", "auto"), 409)
	want("a copy of the second", open("k2", "t2", "ask"), 200)
	status, _ := h.act("DELETE", "/session/s1", "", "k3", h.clock.Now())
	want("the deletion", status, 200)
	want("a check-in after the deletion", open("k2", "t2", "ask"), 409)
	if status, _, _ := h.call(request{"GET", "/session/s1", "", []string{bearerPassword}}); status != http.StatusNotFound {
		t.Errorf("a deleted session: %d", status)
	}
	status, _ = h.act("DELETE", "/session/s1", "", "k3", h.clock.Now())
	want("a copy of the deletion", status, 200)
}

func TestTheHeadersOfActsAreChecked(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	h.open("s1")
	now := h.clock.Now()
	for name, c := range map[string]struct {
		key  string
		seen time.Time
		want int
	}{
		"in quotes": {`"k1"`, now, 200},
		"a space":   {"k 1", now, 400},
		"too long":  {strings.Repeat("k", 65), now, 400},
		"a week":    {"k2", now.Add(-protocol.ActKept - time.Second), 409},
		"the limit": {"k3", now.Add(-protocol.ActKept), 200},
	} {
		if status, answer := h.act("POST", "/session/s1/revoke", "", c.key, c.seen); status != c.want {
			t.Errorf("%s: %d %s, want %d", name, status, answer, c.want)
		}
	}
	for _, seen := range []string{"", "yesterday", "1772366400"} {
		status, _, answer := h.call(request{"POST", "/session/s1/revoke", "", []string{
			bearerPassword, protocol.HeaderAct + ": k4", protocol.HeaderFirstSeen + ": " + seen,
		}})
		if status != http.StatusBadRequest || !strings.Contains(answer, protocol.HeaderFirstSeen) {
			t.Errorf("seen %q: %d %s", seen, status, answer)
		}
	}
	if status, answer := h.act("POST", "/session/s1/restart", "", "k1", now); status != http.StatusConflict {
		t.Errorf("another act of a known key: %d %s", status, answer)
	}
}

// Acts are removed after a week, also at a host of which nobody asks anything but turns.
func TestCheckInsRemoveOldActs(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	open := func(session, key string) {
		t.Helper()
		body := fmt.Sprintf(`{"sessionId":%q,"webhookUrl":"http://127.0.0.1:1/","brokerId":"b1"}`, session)
		if status, answer := h.act("POST", "/session", body, key, h.clock.Now()); status != http.StatusOK {
			t.Fatalf("%d %s", status, answer)
		}
	}
	kept := func() bool {
		_, err := h.kept.Act(t.Context(), "s1", "k1")
		return err == nil
	}
	open("s1", "k1")
	h.clock.Advance(protocol.ActKept)
	open("s2", "k2")
	if !kept() {
		t.Error("an act of a week ago is gone")
	}
	h.clock.Advance(time.Second)
	open("s2", "k3")
	if kept() {
		t.Error("an act is kept for more than a week")
	}
}
