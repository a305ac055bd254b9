package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// relayed is a broker on a port, and a task whose host is h.
func relayed(t *testing.T, h http.HandlerFunc) (base string, s *site) {
	t.Helper()
	host := httptest.NewServer(h)
	t.Cleanup(host.Close)
	s = newSite(t)
	rec := s.as(s.ada, "POST", "/api/tasks",
		`{"title":"A task","agentUrl":"`+host.URL+`","agentPassword":"`+agentPassword+`"}`)
	if rec.Code != http.StatusCreated {
		t.Fatal(rec.Body)
	}
	front := httptest.NewServer(s.echo)
	t.Cleanup(front.Close)
	return front.URL + "/api/agent/stream/" + field(t, rec, "id"), s
}

func ask(t *testing.T, ctx context.Context, method, url, body string, header http.Header) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	must(t, err)
	for name, values := range header {
		r.Header[name] = values
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	must(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

func TestARelayPassesFramesAsTheyCome(t *testing.T) {
	t.Parallel()
	next := make(chan string)
	end := sync.OnceFunc(func() { close(next) })
	url, _ := relayed(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.Header().Set("Set-Cookie", "host=1")
		_ = http.NewResponseController(w).Flush()
		for frame := range next {
			_, _ = io.WriteString(w, frame)
			_ = http.NewResponseController(w).Flush()
		}
	})
	t.Cleanup(end)
	answer := ask(t, t.Context(), "GET", url+"?token=canary", "", nil)
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" ||
		answer.Header.Get("Set-Cookie") != "" {
		t.Errorf("%d %v", answer.StatusCode, answer.Header)
	}
	lines := bufio.NewReader(answer.Body)
	for _, frame := range []string{"id: 1-1\n", ": ping\n", "data: {}\n"} {
		next <- frame // the previous frame has been read, so nothing was buffered
		if got, err := lines.ReadString('\n'); err != nil || got != frame {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	end()
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Errorf("got %q, %v", rest, err)
	}
}

func TestARelayPassesTheRequestAndTheAnswer(t *testing.T) {
	t.Parallel()
	url, _ := relayed(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, strings.Join([]string{
			r.Method, r.URL.RawQuery, string(body), r.Header.Get("Authorization"), r.Header.Get("Last-Event-Id"),
			r.Header.Get("Cookie"), r.Header.Get("X-Other"),
		}, "|"))
	})
	answer := ask(t, t.Context(), "POST", url+"?token=a%2Bb&after=3-4", `{"prompt":"x"}`, http.Header{
		"Authorization": {"Bearer stream"}, "Content-Type": {"application/json"}, "Last-Event-Id": {"3-4"},
		"Cookie": {"session=canary"}, "X-Other": {"1"},
	})
	got, err := io.ReadAll(answer.Body)
	must(t, err)
	if want := `POST|after=3-4&token=a%2Bb|{"prompt":"x"}|Bearer stream|3-4||`; answer.StatusCode != http.StatusConflict ||
		string(got) != want {
		t.Errorf("%d %s", answer.StatusCode, got)
	}
	if answer.Header.Get("Retry-After") != "7" || answer.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%v", answer.Header)
	}
}

func TestAHostMayAnswerBeforeItReadThePrompt(t *testing.T) {
	t.Parallel()
	address, _ := relayed(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		_, _ = io.WriteString(w, "begins, ")
		_ = control.Flush()
		prompt, err := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "read %q, %v", prompt, err)
	})
	target, err := url.Parse(address)
	must(t, err)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", target.Host)
	must(t, err)
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 10\r\n\r\nhalf ", target.Path, target.Host)
	must(t, err)
	must(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	defer func() { _ = answer.Body.Close() }()
	_, err = io.WriteString(conn, "other")
	must(t, err)
	if got, err := io.ReadAll(answer.Body); err != nil || string(got) != `begins, read "half other", <nil>` {
		t.Errorf("%q, %v", got, err)
	}
}

func TestABrokenStreamDoesNotLookComplete(t *testing.T) {
	t.Parallel()
	url, _ := relayed(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "id: 1-1\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	if _, err := io.ReadAll(ask(t, t.Context(), "GET", url, "", nil).Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

func TestARelayEndsWithEitherSide(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 2)
	url, s := relayed(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	})
	ctx, leave := context.WithCancel(t.Context())
	_ = ask(t, ctx, "GET", url, "", nil)
	leave()
	<-gone
	answer := ask(t, t.Context(), "GET", url, "", nil)
	s.api.End()
	<-gone
	if _, err := io.ReadAll(answer.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the end of the broker looks like the end of the turn: %v", err)
	}
}

func TestARelayWithoutItsHost(t *testing.T) {
	t.Parallel()
	url, s := relayed(t, nil)
	s.host.fail(nil)
	id := s.newTask("") // the host of this task does not exist
	rec := s.as(nil, "GET", "/api/agent/stream/"+id, "")
	want(t, rec, 502,
		`{"error":"Failed to connect to agent server","code":"bad_gateway","hint":"Check that the agent host runs and that the broker reaches its URL"}`)
	gone := strings.TrimPrefix(url[strings.LastIndex(url, "/"):], "/")
	want(t, s.as(s.ada, "DELETE", "/api/tasks/"+gone, ""), 200, `{"success":true}`)
	want(t, s.as(nil, "GET", "/api/agent/stream/"+gone, ""), 404, `{"error":"Task not found","code":"not_found"}`)
}
