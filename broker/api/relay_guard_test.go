package api_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/protocol"
)

// answering is a host that sends one response to every request.
func answering(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

// Anyone may open a relayed URL, and any user may name a host. Its response must be
// neither a page nor a script of the broker's origin.
func TestAHostWritesNoPagesOfTheBroker(t *testing.T) {
	t.Parallel()
	for contentType, want := range map[string]string{
		"text/html":                        "application/octet-stream",
		"text/javascript":                  "application/octet-stream",
		"image/svg+xml":                    "application/octet-stream",
		"text/event-stream, text/html":     "application/octet-stream",
		"Text/Event-Stream":                "text/event-stream; charset=utf-8",
		"text/plain; charset=utf-7":        "text/plain; charset=utf-8",
		"application/json; charset=UTF-16": "application/json",
	} {
		url, _ := relayed(t, answering(contentType, "<script>1</script>"))
		answer := ask(t, t.Context(), "GET", url, "", nil)
		h := answer.Header
		if h.Get("Content-Type") != want || h.Get("X-Content-Type-Options") != "nosniff" ||
			h.Get("Cache-Control") != "no-store, no-transform" ||
			h.Get("Referrer-Policy") != "no-referrer" ||
			h.Get("Content-Security-Policy") != "default-src 'none'; frame-ancestors 'none'; sandbox" {
			t.Errorf("%s: %v", contentType, h)
		}
	}
}

func TestAHostGetsNoCredentialsButStreamTokens(t *testing.T) {
	t.Parallel()
	url, s := relayed(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.RawQuery+"|"+strings.Join(r.Header.Values("Authorization"), ","))
	})
	api := s.ada.token
	for name, c := range map[string]struct{ query, authorization, want string }{
		"a stream token": {"", "Bearer bhs_1", "|Bearer bhs_1"},
		"an API token in addition to a stream token": {"token=bhs_1", "Bearer " + api, "token=bhs_1|"},
		"an API token in other words":                {"", "bearer   " + api, "|"},
		"an API token in the place of one":           {"token=" + api + "&after=1-1", "", "after=1-1|"},
		"the password of a proxy in front":           {"token=bhs_1", "Basic dXNlcjpwYXNz", "token=bhs_1|"},
		"two stream tokens, which it refuses":        {"token=bhs_1", "Bearer bhs_2", "token=bhs_1|Bearer bhs_2"},
	} {
		header := http.Header{}
		if c.authorization != "" {
			header.Set("Authorization", c.authorization)
		}
		got, err := io.ReadAll(ask(t, t.Context(), "GET", url+"?"+c.query, "", header).Body)
		must(t, err)
		if string(got) != c.want {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestARelayedPromptHasTheHostsLimit(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var complete []int64
	url, _ := relayed(t, func(_ http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			complete = append(complete, n)
		}
	})
	if answer := ask(t, t.Context(), "POST", url, strings.Repeat("x", protocol.MaxLine),
		nil); answer.StatusCode != http.StatusOK {
		t.Errorf("as much as a host takes: %d", answer.StatusCode)
	}
	answer := ask(t, t.Context(), "POST", url, strings.Repeat("x", protocol.MaxLine+1), nil)
	body, err := io.ReadAll(answer.Body)
	must(t, err)
	if answer.StatusCode != http.StatusRequestEntityTooLarge ||
		string(body) != `{"error":"The body is too large","code":"too_large","hint":"The limit is 12 MiB"}` {
		t.Errorf("a byte more: %d %s", answer.StatusCode, body)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(complete) != 1 || complete[0] != protocol.MaxLine {
		t.Errorf("the host read %d to the end", complete)
	}
}

// raw is a host that answers every connection with bytes that are not valid HTTP.
func raw(t *testing.T, response string) (hostURL string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, response)
			_ = conn.Close()
		}
	}()
	return "http://" + listener.Addr().String()
}

func TestAStatusThatIsNoResponseIsNotRelayed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	front := httptest.NewServer(s.echo)
	t.Cleanup(front.Close)
	for response, want := range map[string]int{
		"HTTP/1.1 042 Odd\r\nContent-Length: 0\r\n\r\n":                                        502,
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhello":   502,
		"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n": 502,
		"SSH-2.0-OpenSSH_9.6\r\n": 502,
		"":                        502,
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n": 204,
	} {
		rec := s.as(s.ada, "POST", "/api/tasks", `{"title":"A task","agentUrl":"`+raw(t, response)+`","agentPassword":"x"}`)
		answer := ask(t, t.Context(), "GET", front.URL+"/api/agent/stream/"+field(t, rec, "id")+"?token=bhs_1", "", nil)
		if answer.StatusCode != want || answer.Header.Get("Location") != "" || answer.Header.Get("Link") != "" {
			t.Errorf("%q: %d %v", response, answer.StatusCode, answer.Header)
		}
	}
}

// watched records the read deadline of the last connection.
type watched struct {
	net.Listener
	mu   sync.Mutex
	last time.Time
}

func (l *watched) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &watchedConn{conn, l}, err
}

type watchedConn struct {
	net.Conn
	l *watched
}

func (c *watchedConn) SetReadDeadline(at time.Time) error {
	c.l.mu.Lock()
	c.l.last = at
	c.l.mu.Unlock()
	return c.Conn.SetReadDeadline(at)
}

// The prompt has one minute, a turn may take longer. A deadline that is not removed
// would end the request.
func TestTheDeadlineOfThePromptDoesNotEndTheStream(t *testing.T) {
	t.Parallel()
	begun, end := make(chan time.Time, 1), make(chan struct{})
	front := &watched{}
	url, s := relayed(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		front.mu.Lock()
		begun <- front.last // the body was read to its end, and the response has not begun
		front.mu.Unlock()
		_, _ = io.WriteString(w, "id: 1-1\n")
		_ = http.NewResponseController(w).Flush()
		<-end
	})
	server := httptest.NewUnstartedServer(s.echo)
	front.Listener = server.Listener
	server.Listener = front
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(end) })
	_, path, _ := strings.Cut(url, "/api/")
	answer := ask(t, t.Context(), "POST", server.URL+"/api/"+path, `{"prompt":"x"}`, nil)
	if _, err := bufio.NewReader(answer.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	front.mu.Lock()
	defer front.mu.Unlock()
	if waiting := <-begun; !waiting.IsZero() || !front.last.IsZero() {
		t.Errorf("it ends %v while the host is waited for, %v in the stream", waiting, front.last)
	}
}
