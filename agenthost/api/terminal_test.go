package api_test

import (
	"net/http"
	"strings"
	"testing"

	"bellhop/protocol"
)

func TestTerminalNeedsThePassword(t *testing.T) {
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
			status, _, body := h.call(request{"POST", "/session/" + c.session + "/terminal", "", []string{"Authorization: Bearer " + c.credential}})
			if status != c.status || !strings.Contains(body, `"code":"`+string(c.code)+`"`) {
				t.Errorf("got %d %s", status, body)
			}
		})
	}
}
