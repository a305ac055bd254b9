package api_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bellhop/internal/testenv/apicheck"
)

// openFeed opens an event stream over a real connection and reads its first frame.
func openFeed(t *testing.T, s *site, path string, who *person) (first string, rest *bufio.Reader) {
	t.Helper()
	server := httptest.NewServer(s.echo)
	t.Cleanup(server.Close)
	t.Cleanup(server.Client().CloseIdleConnections)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+who.token)
	client := &http.Client{Transport: apicheck.Broker(t).Transport(t, server.Client().Transport)}
	resp, err := client.Do(r)
	must(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	rest = bufio.NewReader(resp.Body)
	for {
		line, err := rest.ReadString('\n')
		must(t, err)
		if line == "\n" {
			return first, rest
		}
		first += line
	}
}

func TestAFeedSendsHelloAndEndsWithItsToken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, path, hello string }{
		{"of a task", "/api/tasks/ID/events", `{"rev":0}`},
		{
			"of a user", "/api/events",
			`{"tasks":[{"taskId":"<id1>","rev":0,"agentStatus":"none","reason":"","openInteractions":0}]}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			path := strings.Replace(c.path, "ID", s.newTask(""), 1)
			first, rest := openFeed(t, s, path, s.ada)
			if !strings.Contains(first, "event: hello\n") || !strings.Contains(plain(first), "data: "+c.hello+"\n") {
				t.Errorf("got %q", plain(first))
			}
			tokens, err := s.auth.ListTokens(t.Context(), s.ada.id)
			must(t, err)
			must(t, s.auth.DeleteToken(t.Context(), s.ada.id, tokens[0].ID))
			if _, err := io.Copy(io.Discard, rest); err != nil {
				t.Logf("cut: %v", err)
			}
		})
	}
}

func TestAFeedEndsWithItsTask(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newTask("")
	_, rest := openFeed(t, s, "/api/tasks/"+id+"/events", s.ada)
	want(t, s.as(s.ada, "DELETE", "/api/tasks/"+id, ""), 200, `{"success":true}`)
	if _, err := io.Copy(io.Discard, rest); err != nil {
		t.Logf("cut: %v", err)
	}
}
