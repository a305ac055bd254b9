package api_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A reload must not stop a turn, and no other program reports its end.
func TestARelayedTurnOfABasicHostEndsWithoutItsBrowser(t *testing.T) {
	t.Parallel()
	goOn, gone := make(chan struct{}), make(chan error, 1)
	url, s := relayed(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"type\":\"text-start\",\"id\":\"1\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-goOn
		gone <- r.Context().Err()
		_, _ = io.WriteString(w, "data: {\"type\":\"finish\",\"finishReason\":\"length\"}\n\n")
	})
	id := url[strings.LastIndex(url, "/")+1:]
	s.host.basic(true)
	turn := field(t, s.as(s.ada, "POST", "/api/agent", `{"taskId":"`+id+`","message":"hi"}`), "turnId")
	ctx, leave := context.WithCancel(t.Context())
	answer := ask(t, ctx, "POST", url+"?token=basic", `{"prompt":"hi"}`, http.Header{"Content-Type": {"application/json"}})
	if _, err := answer.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	leave()
	close(goOn)
	if err := <-gone; err != nil {
		t.Errorf("the host is disconnected: %v", err)
	}
	rec := s.as(s.ada, "GET", "/api/tasks/"+id+"?turn="+turn+"&wait=30s", "")
	if !strings.Contains(rec.Body.String(), `"lastTurn":{"id":"`+turn+`","finishReason":"length"`) {
		t.Errorf("the task is %s", rec.Body)
	}
}
