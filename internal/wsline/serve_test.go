package wsline

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"bellhop/protocol"
)

// line is a hub behind a server; handle receives the clients' lines.
func line(
	t *testing.T, h *Hub, times Times, handle func([]byte),
) (dial func() *websocket.Conn, stop context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{}, 64)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { done <- struct{}{} }()
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		watcher, err := h.Watch(false)
		if err != nil {
			_ = conn.Close(websocket.StatusTryAgainLater, "")
			return
		}
		defer watcher.Leave()
		Serve(ctx, conn, watcher, times, handle)
	}))
	dialled := 0
	transport := &http.Transport{}
	t.Cleanup(func() {
		cancel()
		for range dialled {
			<-done
		}
		transport.CloseIdleConnections()
		web.Close()
	})
	return func() *websocket.Conn {
		conn, _, err := websocket.Dial(t.Context(), web.URL,
			&websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		dialled++
		t.Cleanup(func() { _ = conn.CloseNow() })
		return conn
	}, cancel
}

func closedWith(t *testing.T, conn *websocket.Conn) websocket.StatusCode {
	t.Helper()
	for {
		if _, _, err := conn.Read(t.Context()); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func TestLinesGoBothWays(t *testing.T) {
	t.Parallel()
	h := newHub(Limits{})
	received := make(chan string, 1)
	dial, _ := line(t, h, Times{}, func(raw []byte) { received <- string(raw) })
	h.Publish(state("thinking"))
	conn := dial()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte("hi")); err != nil {
		t.Fatal(err)
	}
	if got := <-received; got != "hi" {
		t.Errorf("received %s", got)
	}
	h.Publish(state("executing_tool"))
	for _, want := range []string{`{"type":"state","state":"thinking"}`, `{"type":"state","state":"executing_tool"}`} {
		if _, raw, err := conn.Read(t.Context()); string(raw) != want {
			t.Errorf("got %s, %v", raw, err)
		}
	}
}

func TestEveryEndHasItsCloseCode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(*Hub, *websocket.Conn, context.CancelFunc)
		want websocket.StatusCode
	}{
		"the session ends": {
			func(h *Hub, _ *websocket.Conn, _ context.CancelFunc) { h.End(websocket.StatusNormalClosure, "over") },
			websocket.StatusNormalClosure,
		},
		"the server stops": {func(_ *Hub, _ *websocket.Conn, stop context.CancelFunc) { stop() }, websocket.StatusGoingAway},
		"a binary frame": {
			func(_ *Hub, conn *websocket.Conn, _ context.CancelFunc) { send(conn, websocket.MessageBinary, "x") },
			websocket.StatusUnsupportedData,
		},
		"no UTF-8": {
			func(_ *Hub, conn *websocket.Conn, _ context.CancelFunc) { send(conn, websocket.MessageText, "\xff") },
			websocket.StatusInvalidFramePayloadData,
		},
		"a line too long": {func(_ *Hub, conn *websocket.Conn, _ context.CancelFunc) {
			send(conn, websocket.MessageText, strings.Repeat("x", protocol.MaxLine+1))
		}, websocket.StatusMessageTooBig},
		"the longest line": {func(_ *Hub, conn *websocket.Conn, _ context.CancelFunc) {
			send(conn, websocket.MessageText, strings.Repeat("x", protocol.MaxLine))
			_ = conn.CloseNow()
		}, -1},
		"the client leaves": {func(_ *Hub, conn *websocket.Conn, _ context.CancelFunc) { _ = conn.CloseNow() }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(Limits{})
			dial, stop := line(t, h, Times{}, func([]byte) {})
			conn := dial()
			h.Publish(state("thinking"))
			if _, _, err := conn.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.do(h, conn, stop)
			if code := closedWith(t, conn); code != c.want {
				t.Errorf("closed with %d, want %d", code, c.want)
			}
		})
	}
}

func send(conn *websocket.Conn, kind websocket.MessageType, text string) {
	_ = conn.Write(context.Background(), kind, []byte(text)) // may fail, since the server may stop reading
}

func TestAClientThatDoesNotReadAnswersNoPing(t *testing.T) {
	t.Parallel()
	h := newHub(Limits{})
	dial, _ := line(t, h, Times{Ping: 20 * time.Millisecond, Pong: time.Second}, func([]byte) {})
	dial() // and does not read
	alive := dial()
	lines := make(chan string)
	go func() {
		defer close(lines)
		for {
			_, raw, err := alive.Read(context.Background())
			if err != nil {
				return
			}
			lines <- string(raw)
		}
	}()
	for _, clients := range []int{2, 1} {
		for h.Status().Clients != clients {
			runtime.Gosched()
		}
	}
	h.Notice(state("thinking"))
	if got := <-lines; got != `{"type":"state","state":"thinking"}` {
		t.Errorf("the other client got %q", got)
	}
	_ = alive.CloseNow()
	for range lines { // until the reader has ended
	}
}
