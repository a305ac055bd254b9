package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"bellhop/protocol"
)

// revokes sends a request to end credentials and returns the answer.
func (h *host) revokes(body string) (int, string) {
	h.t.Helper()
	status, _, answer := h.call(request{"POST", "/revoke", body, []string{bearerPassword}})
	return status, answer
}

// end reads a stream until it ends.
func (s *stream) end() {
	for {
		if _, err := s.reader.Next(); err != nil {
			return
		}
	}
}

// Reliability SSE-5.
func TestTheEndOfACredentialEndsItsTokensAndStreams(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	starts := h.open("s1", `"credential":"laptop"`, `"turn":{"id":"t1"}`)
	laptop := h.open("s1", `"credential":"laptop"`, `"attach":true`)
	phone := h.open("s1", `"credential":"phone"`, `"attach":true`)
	unnamed := h.open("s1", `"attach":true`)
	started := h.prompt("s1", starts, "text before\nwait gate\ntext after")
	ending := []*stream{
		started, h.attach("s1", laptop, ""), h.attach("s1", laptop, "&follow=true"), h.attach("s1", laptop, "&format=ui"),
	}
	staying := []*stream{h.attach("s1", phone, ""), h.attach("s1", unnamed, "")}
	for _, s := range append(staying, started) {
		s.readUntil(protocol.PartTextDelta)
	}
	lines, otherLines := h.watch("s1", laptop), h.watch("s1", phone)

	for _, without := range []string{
		`{"brokerId":"b2","credentials":["laptop"]}`, `{"brokerId":"b1","credentials":["unknown"]}`,
	} {
		if status, body := h.revokes(without); status != http.StatusOK {
			t.Errorf("%s: %d %s", without, status, body)
		}
	}
	still := h.attach("s1", laptop, "") // neither had an effect
	still.readUntil(protocol.PartTextDelta)

	for range 2 { // a repetition is no error
		_, body := h.revokes(`{"brokerId":"b1","credentials":["unknown","laptop"]}`)
		expectEqual(t, "revoke", body, `{"success":true,"brokerId":"b1"}`)
	}
	for _, s := range append(ending, still) {
		s.end()
	}
	if got := lines.readToClose(); got != websocket.StatusPolicyViolation {
		t.Errorf("lines: %v", got)
	}
	for _, token := range []string{starts, laptop} {
		for _, q := range []request{
			{"GET", "/stream/s1?token=" + token, "", nil},
			{"POST", "/stream/s1?token=" + token, `{"prompt":"text more"}`, nil},
			{"POST", "/session/s1/interrupt?token=" + token, "{}", nil},
		} {
			if status, _, body := h.call(q); status != http.StatusUnauthorized {
				t.Errorf("%s %s: %d %s", q.method, q.path, status, body)
			}
		}
	}
	h.fake.Release("gate") // the turn itself continues
	for _, s := range staying {
		expectEqual(t, "the rest", partTypes(s.readAll()), "text-delta after, text-end, finish")
	}
	otherLines.send(`{"type":"nonsense"}`)
	for otherLines.next().Level != "error" {
	}
}

func TestRequestsToEndCredentialsAreChecked(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.open("s1", `"credential":"laptop"`, `"attach":true`)
	long := strings.Repeat("x", protocol.MaxCredential+1)
	for name, body := range map[string]string{
		"no broker":      `{"credentials":["laptop"]}`,
		"a long broker":  `{"brokerId":"` + strings.Repeat("b", 129) + `","credentials":["laptop"]}`,
		"no credentials": `{"brokerId":"b1"}`,
		"an empty one":   `{"brokerId":"b1","credentials":["laptop",""]}`,
		"a long one":     `{"brokerId":"b1","credentials":["laptop","` + long + `"]}`,
		"a wrong type":   `{"brokerId":"b1","credentials":"laptop"}`,
		"too many": `{"brokerId":"b1","credentials":["laptop"` + strings.Repeat(`,"x"`,
			protocol.MaxCredentials) + `]}`,
		"an unknown part": `{"brokerId":"b1","credentials":["laptop"],"all":true}`,
	} {
		want := http.StatusBadRequest
		if name == "an unknown part" { // a later broker may send more
			body, want = strings.Replace(body, "laptop", "other", 1), http.StatusOK
		}
		h.undescribed = want == http.StatusOK
		if status, answer := h.revokes(body); status != want {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	if status, _, _ := h.call(request{
		"POST", "/revoke", `{"brokerId":"b1","credentials":["laptop"]}`, nil,
	}); status != 401 {
		t.Errorf("without the password: %d", status)
	}
	for _, body := range []string{
		`{"sessionId":"s2","webhookUrl":"http://x/","brokerId":"b1","credential":"` + long + `"}`,
		`{"sessionId":"s2","webhookUrl":"http://x/","credential":"laptop"}`,
		`{"sessionId":"s2","webhookUrl":"http://x/","brokerId":"b1","credential":7}`,
	} {
		status, _, answer := h.call(request{"POST", "/session", body, []string{bearerPassword}})
		if status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	if status, _, body := h.call(request{
		"POST", "/session/s1/interrupt?token=" + token, "{}", nil,
	}); status != http.StatusOK {
		t.Errorf("nothing ended: %d %s", status, body)
	}
}

// The right password is accepted at once, however many wrong ones came from the same address.
func TestWrongPasswordsAreLimited(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	h.open("s1")
	wrong := []string{"Authorization: Bearer guess"}
	for _, q := range []request{
		{"GET", "/status", "", wrong},
		{"POST", "/session/s1/interrupt", "", wrong},
		{"GET", "/sessions/s1/history", "", wrong},
	} {
		limited := false
		for range 50 {
			status, header, body := h.call(q)
			switch {
			case status == http.StatusTooManyRequests && header.Get("Retry-After") != "" &&
				strings.Contains(body, `"too_many_requests"`):
				limited = true
			case status != http.StatusUnauthorized:
				t.Fatalf("%s: %d %s", q.path, status, body)
			}
		}
		if !limited {
			t.Errorf("%s: fifty guesses, and no limit", q.path)
		}
	}
	if status, _, body := h.call(request{"GET", "/status", "", []string{bearerPassword}}); status != http.StatusOK {
		t.Errorf("the right one: %d %s", status, body)
	}
	for name, header := range map[string][]string{
		"none": nil, "an expired stream token": {"Authorization: Bearer bhs_expired"},
	} {
		attempt := request{"POST", "/session/s1/interrupt", "", header}
		if status, _, body := h.call(attempt); status != http.StatusUnauthorized {
			t.Errorf("%s is no guess: %d %s", name, status, body)
		}
	}
}
