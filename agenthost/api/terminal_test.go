package api_test

import (
	"net/http"
	"strings"
	"testing"

	"bellhop/protocol"
)

func TestRestartAndStopNeedThePassword(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.open("s1")
	for _, c := range []struct {
		rule, path, credential string
		status                 int
		body                   string
	}{
		{"restart without a credential", "/session/s1/restart", "", http.StatusUnauthorized, `"code":"unauthorized"`},
		{"a stream token restarts nothing", "/session/s1/restart", token, http.StatusUnauthorized, `"code":"unauthorized"`},
		{"no such session", "/session/s9/restart", password, http.StatusNotFound, `"code":"not_found"`},
		{"restart", "/session/s1/restart", password, http.StatusOK, `{"success":true,"sessionId":"s1","endedTurn":""}`},
		{"a stream token stops nothing", "/projects/shop/stop", token, http.StatusUnauthorized, `"code":"unauthorized"`},
		{"the password alone stops nothing", "/projects/shop/stop", password, http.StatusForbidden, `"code":"session_key"`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			status, _, body := h.call(request{"POST", c.path, "", []string{"Authorization: Bearer " + c.credential}})
			if status != c.status || !strings.Contains(body, c.body) {
				t.Errorf("got %d %s", status, body)
			}
		})
	}
}

func TestTerminalNeedsThePassword(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.open("s1")
	for _, c := range []struct {
		rule, session, credential string
		status                    int
		code                      protocol.Code
	}{
		{"without a credential", "s1", "", http.StatusUnauthorized, protocol.CodeUnauthorized},
		{"a stream token is not enough", "s1", token, http.StatusUnauthorized, protocol.CodeUnauthorized},
		{"no such session", "s9", password, http.StatusNotFound, protocol.CodeNotFound},
		{"an agent without a terminal client", "s1", password, http.StatusBadRequest, protocol.CodeInvalid},
	} {
		t.Run(c.rule, func(t *testing.T) {
			status, _, body := h.call(request{
				"POST", "/session/" + c.session + "/terminal", "", []string{"Authorization: Bearer " + c.credential},
			})
			if status != c.status || !strings.Contains(body, `"code":"`+string(c.code)+`"`) {
				t.Errorf("got %d %s", status, body)
			}
		})
	}
}

func TestReportsOfATerminal(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	for _, c := range []struct {
		rule, session, credential, body string
		status                          int
		want                            string
	}{
		{"a stream token reports nothing", "s1", token, `{"closed":true}`, http.StatusUnauthorized, `"code":"unauthorized"`},
		{"no such session", "s9", password, `{"attached":true,"waitSeconds":1}`, http.StatusNotFound, `"code":"not_found"`},
		{"too long a wait", "s1", password, `{"attached":true,"waitSeconds":26}`, http.StatusBadRequest, "Send 0 to 25"},
		{"a negative wait", "s1", password, `{"attached":true,"waitSeconds":-1}`, http.StatusBadRequest, "Send 0 to 25"},
		{
			"a wait of another type", "s1", password, `{"attached":true,"waitSeconds":"1"}`,
			http.StatusBadRequest, `"code":"invalid"`,
		},
		{"an open client", "s1", password, `{"attached":true,"waitSeconds":1}`, http.StatusOK, `"command":null`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			status, _, body := h.call(request{
				"POST", "/session/" + c.session + "/terminal", c.body, []string{"Authorization: Bearer " + c.credential},
			})
			if status != c.status || !strings.Contains(body, c.want) {
				t.Errorf("got %d %s", status, body)
			}
		})
	}
	prompt := func(body string) (int, string) {
		status, _, answer := h.call(request{"POST", "/stream/s1?token=" + token, body, nil})
		return status, answer
	}
	if status, body := prompt(`{"prompt":"text a"}`); status != http.StatusConflict ||
		!strings.Contains(body, `"code":"attached"`) {
		t.Errorf("a prompt while the client is open: %d %s", status, body)
	}
	if status, body := prompt(`{"prompt":"text a","force":"yes"}`); status != http.StatusBadRequest {
		t.Errorf("force of another type: %d %s", status, body)
	}
	closed := request{"POST", "/session/s1/terminal", `{"closed":true}`, []string{"Authorization: Bearer " + password}}
	for range 2 { // repeated
		if status, _, body := h.call(closed); status != http.StatusOK {
			t.Errorf("closed: %d %s", status, body)
		}
	}
	if status, body := prompt(`{"prompt":"text a"}`); status != http.StatusOK {
		t.Errorf("a prompt afterwards: %d %s", status, body)
	}
}

func TestAnInputLineTakesATerminalOver(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	id, token := h.headless("")
	terminal := func(body string) string {
		status, _, answer := h.call(request{
			"POST", "/session/" + id + "/terminal", body, []string{"Authorization: Bearer " + password},
		})
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", body, status, answer)
		}
		return answer
	}
	c := h.watch(id, token)
	terminal(`{"attached":true,"waitSeconds":1}`)
	c.send(`{"type":"input","text":"text a"}`)
	if got := c.next(); got.Level != "error" || got.Code != protocol.CodeAttached || got.Command != protocol.LineInput {
		t.Errorf("without force: %+v", got)
	}
	c.send(`{"type":"input","text":"text b","force":true}`)
	if answer := terminal(`{"attached":true,"waitSeconds":25}`); !strings.Contains(answer, `"takenOver":true`) {
		t.Errorf("the client is not notified: %s", answer)
	}
	terminal(`{"closed":true}`)
	c.readUntil(protocol.StateWaitingForInput)
	if prompts := h.fake.Prompts(); len(prompts) != 1 || prompts[0].Text != "text b" {
		t.Errorf("prompts: %+v", prompts)
	}
}
