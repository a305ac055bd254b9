package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bellhop/internal/testenv/basic"
	"bellhop/protocol"
)

func TestBasicHostsGetTheTokenInTheQuery(t *testing.T) {
	t.Parallel()
	host := &basic.Host{Password: "pw"}
	hostServer := httptest.NewServer(host)
	t.Cleanup(hostServer.Close)
	broker := &basic.Broker{}
	hooks := httptest.NewServer(broker)
	t.Cleanup(hooks.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	broker.URL = hooks.URL
	token, err := broker.Open(t.Context(), hostServer.URL, "pw", "t")
	if err != nil {
		t.Fatal(err)
	}
	stream, err := newClient(t, "http://127.0.0.1:1").Open(
		&protocol.CheckInResponse{SessionID: "t", StreamToken: token, StreamURL: hostServer.URL + "/stream/t"},
		&protocol.PromptRequest{Prompt: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	got, transcript, err := read(stream.Events(t.Context()))
	if err != nil || transcript.Text() != "Let me look.\n\nYou said: hi" || transcript.End == nil {
		t.Errorf("read %s, %v, %+v", got, err, transcript)
	}
}

// The reader of a basic host's stream is the only one that sees the end of its turn.
func TestTheEndOfABasicHostsStreamIsReported(t *testing.T) {
	t.Parallel()
	const begin, text = `{"type":"text-start","id":"a"}`, `{"type":"text-delta","id":"a","text":"hello"}`
	const reported = `{"taskId":"t","turnId":"turn"`
	for name, c := range map[string]struct {
		script     reply
		want, ends string
	}{
		"without a finish": {sending(closing, begin, text, "[DONE]"), "text-start,text-delta", reported + `}`},
		"a finish": {
			sending(closing, `{"type":"finish","finishReason":"length"}`), "finish", reported + `,"finishReason":"length"}`,
		},
		"an unknown finish": {
			sending(closing, `{"type":"finish","finishReason":"x"}`), "finish", reported + `,"finishReason":"stop"}`,
		},
		"an error": {sending(closing, `{"type":"error","error":"x"}`), "error", reported + `,"finishReason":"error"}`},
		"an abort": {
			sending(closing, `{"type":"abort"}`), "abort", reported + `,"finishReason":"other","reason":"aborted"}`,
		},
		"a prompt that is refused": {
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "error forbidden",
			reported + `,"finishReason":"error"}`,
		},
		"a broken stream cannot be resumed": {sending(breaking, begin), "text-start,error unavailable", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, c.script)
			s.basic = true
			stream, err := s.client().Send(t.Context(), &protocol.CheckInRequest{TaskID: "t", Message: "hi", MessageID: "m"})
			if err != nil {
				t.Fatal(err)
			}
			got, _, _ := read(stream.Events(t.Context()))
			if ends := strings.Join(s.ends, " "); got != c.want || ends != c.ends {
				t.Errorf("read %s, reported %s", got, ends)
			}
			const inQuery = `POST /stream/t?token=token-canary-1 `
			if len(s.asked) != 1 || !strings.HasPrefix(s.asked[0], inQuery) || strings.Contains(s.asked[0], "Bearer") {
				t.Errorf("asked %q", s.asked)
			}
		})
	}
}
