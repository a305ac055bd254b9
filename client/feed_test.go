package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/client"
	"bellhop/protocol"
)

// feedServer answers each connection with the next of these bodies and records the
// Last-Event-IDs.
func feedServer(t *testing.T, bodies ...string) (c *client.Client, resumed func() []string) {
	t.Helper()
	var mu sync.Mutex
	var ids []string
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n := len(ids)
		ids = append(ids, r.URL.Path+" "+r.Header.Get("Last-Event-ID"))
		mu.Unlock()
		if n >= len(bodies) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"error":"Task not found","code":"not_found"}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = fmt.Fprint(w, bodies[n])
	}))
	t.Cleanup(ts.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c = client.New(ts.URL, client.Options{HTTP: &http.Client{Transport: transport}, MinBackoff: time.Millisecond})
	return c, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return ids
	}
}

func frame(id, event, data string) string {
	return fmt.Sprintf("id: %s\ndata: %s\nevent: %s\n\n", id, data, event)
}

func TestFollowTask(t *testing.T) {
	t.Parallel()
	c, resumed := feedServer(t,
		frame("3", "hello", `{"rev":4}`)+frame("4", "message", `{"id":"m4"}`),
		frame("4", "hello", `{"rev":5}`)+frame("5", "task", `{"id":"t"}`)+frame("5", "bye", `{}`),
		frame("5", "hello", `{"rev":2}`)+frame("2", "reset", `{"rev":2}`)+frame("3", "interaction", `{"id":"i"}`)+frame("4",
			"later", `{}`),
	)
	var seen []string
	for change, err := range c.FollowTask(t.Context(), "t", 3) {
		switch {
		case err != nil:
			seen = append(seen, string(protocol.CodeOf(err)))
		case change.Reset:
			seen = append(seen, fmt.Sprint("reset ", change.Rev))
		case change.Message != nil:
			seen = append(seen, fmt.Sprint(change.Message.ID, " ", change.Rev))
		case change.Task != nil:
			seen = append(seen, fmt.Sprint(change.Task.ID, " ", change.Rev))
		case change.Interaction != nil:
			seen = append(seen, fmt.Sprint(change.Interaction.ID, " ", change.Rev))
		}
	}
	if got, want := strings.Join(seen, ","), "m4 4,t 5,reset 2,i 3,not_found"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	path := "/api/tasks/t/events "
	if want := []string{path + "3", path + "4", path + "5", path + "4"}; !reflect.DeepEqual(resumed(), want) {
		t.Errorf("resumed after %q, want %q", resumed(), want)
	}
}

func TestFollowTasks(t *testing.T) {
	t.Parallel()
	c, _ := feedServer(t,
		frame("1", "hello",
			`{"tasks":[{"taskId":"a","rev":1},{"taskId":"b","rev":2}]}`)+frame("2", "task", `{"taskId":"a","rev":3}`))
	var seen []string
	for hint, err := range c.FollowTasks(t.Context()) {
		if err != nil {
			seen = append(seen, string(protocol.CodeOf(err)))
			continue
		}
		seen = append(seen, fmt.Sprint(hint.TaskID, hint.Rev))
	}
	if got, want := strings.Join(seen, ","), "a1,b2,a3,not_found"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
