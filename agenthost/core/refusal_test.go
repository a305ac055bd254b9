package core_test

import (
	"net/http"
	"testing"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// A 400 drops an event only if it is about that event: a named broker says so with the
// event's index, a basic broker by any sentence that is not about the token.
func TestA400DropsAnEventOnlyIfItIsAboutTheEvent(t *testing.T) {
	for _, c := range []struct {
		name    string
		broker  string // the id that the broker sent; "": none
		code    protocol.Code
		message string
		index   *int
		drops   bool
		wait    bool // keeps the event and sends it again later
	}{
		{"named, with the event's index", "b1", protocol.CodeInvalid, "text is required", new(0), true, false},
		{"named, with the index and a sentence about the token", "b1", protocol.CodeInvalid, "Session ID mismatch", new(0), true, false},
		{"named, without an index", "b1", protocol.CodeInvalid, "Invalid token format", nil, false, true},
		{"named, without an index, in other words", "b1", protocol.CodeInvalid, "The token is odd", nil, false, true},
		{"a gateway", "b1", "", "Bad Request", nil, false, true},
		{"basic, about the event", "", "", "text is required", nil, true, false},
		{"basic, about the token", "", "", "Missing token", nil, false, true},
		{"basic, about the token's format", "", "", "Invalid token format", nil, false, true},
		{"basic, about the token's content", "", "", "Invalid token payload", nil, false, true},
		{"basic, about the session", "", "", "Session ID mismatch", nil, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRun(t)
			in := openedBy(c.broker, "t1")
			if c.broker == "" {
				in.Request.Cursor, in.Request.Turn = nil, nil
			}
			r.do(in)
			step := r.do(core.DeliveryRefused{Sent: r.sent(1), Refusal: core.Refusal{
				Status: http.StatusBadRequest, Code: c.code, Message: c.message, Index: c.index,
			}})
			retries := len(step.Effects) == 1
			if retries {
				_, retries = step.Effects[0].(core.Retry)
			}
			if drops := len(step.Rows.DeadLetters) == 1; drops != c.drops || retries != c.wait {
				t.Errorf("dropped %v, retried %v: %s", drops, retries, shown(step))
			}
		})
	}
}
