package inbound_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/internal/httpapi"
	"bellhop/internal/testenv"
)

// listen serves s on a loopback port with the production limits. The returned function stops
// the server and waits for its requests.
func listen(t *testing.T, s *site) (address string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String(), serve(t, s, listener)
}

func serve(t *testing.T, s *site, listener net.Listener) (stop func()) {
	server := httpapi.Server(s.echo, httpapi.ServerOptions{})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return func() {
		if err := server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}
}

func answerOf(t *testing.T, conn net.Conn) (int, string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(body))
}

func head(target, length string) string {
	return "POST " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" + length + "\r\n\r\n"
}

// An endless body is refused at the cap.
func TestAnEndlessBodyEndsAtTheCap(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	address, stop := listen(t, s)
	defer stop()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	written := make(chan struct{})
	go func() {
		defer close(written)
		if _, err := io.WriteString(conn, head(path+"?token="+s.token(), "Transfer-Encoding: chunked")); err != nil {
			return
		}
		chunk := "10000\r\n" + strings.Repeat(" ", 1<<16) + "\r\n"
		for err == nil {
			_, err = io.WriteString(conn, chunk)
		}
	}()
	status, body := answerOf(t, conn)
	_ = conn.Close()
	<-written
	if status != 413 || body != `{"error":"The body is too large","code":"too_large","hint":"The limit is 1 MiB"}` {
		t.Errorf("got %d %s", status, body)
	}
}

// An incomplete body stores nothing, and the event may still be sent again.
func TestABodyCutShortStoresNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	address, stop := listen(t, s)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn,
		head(path+"?token="+s.token(), fmt.Sprintf("Content-Length: %d", len(text)))+text[:20]); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	status, body := answerOf(t, conn)
	if status != 503 || body != `{"error":"The body did not arrive whole","code":"unavailable"}` {
		t.Errorf("got %d %s", status, body)
	}
	_ = conn.Close()
	stop()
	if s.fakeDomain.eventCount() != 0 {
		t.Error("an event reached the domain")
	}
}

// A token of 10 MiB exceeds the header cap before any handler runs.
func TestATokenOverTheHeaderCapIs431(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	address, stop := listen(t, s)
	defer stop()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ")
		for piece := strings.Repeat("a", 1<<20); err == nil; {
			_, err = io.WriteString(conn, piece)
		}
	}()
	status, _ := answerOf(t, conn)
	_ = conn.Close()
	<-written
	if status != 431 {
		t.Errorf("got %d", status)
	}
}

// A body that arrives at a byte a second is cut off after ten seconds.
func TestASlowBodyIsCutAtTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		listener := testenv.NewPipes()
		stop := serve(t, s, listener)
		client, err := listener.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		written := make(chan struct{})
		go func() {
			defer close(written)
			_, err := io.WriteString(client, head(path+"?token="+s.token(), fmt.Sprintf("Content-Length: %d", len(text))))
			for i := 0; err == nil && i < len(text); i++ {
				time.Sleep(time.Second)
				_, err = io.WriteString(client, text[i:i+1])
			}
		}()
		status, body := answerOf(t, client)
		if status != 503 || body != `{"error":"The body did not arrive in time","code":"unavailable"}` {
			t.Errorf("got %d %s", status, body)
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("after %s", took)
		}
		if _, err := io.Copy(io.Discard, client); err != nil {
			t.Errorf("the connection is not closed: %v", err)
		}
		_ = client.Close()
		<-written
		stop()
		if s.fakeDomain.eventCount() != 0 {
			t.Error("an event reached the domain")
		}
	})
}

// IN-4: a request that waits for a stuck database is answered with a retryable error.
func TestAStuckDatabaseEndsTheRequestAtTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		s.fakeDomain.stuck = true
		began := time.Now()
		want(t, s.send(text), 503, `{"error":"The events were not stored in time","code":"unavailable"}`)
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("after %s", took)
		}
	})
}
