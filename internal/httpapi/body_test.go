package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
)

// bodyLength is a route that responds with the length of the body.
func bodyLength(limit int64) echo.HandlerFunc {
	return func(c echo.Context) error {
		raw, err := httpapi.ReadBody(c, limit)
		if err != nil {
			return err
		}
		return c.String(http.StatusOK, fmt.Sprint(len(raw)))
	}
}

func TestReadBodyChecksTypeAndSize(t *testing.T) {
	t.Parallel()
	e, _ := newEcho()
	e.POST("/", bodyLength(10))
	e.POST("/mib", bodyLength(8<<20))
	e.POST("/kib", bodyLength(2<<10))
	encoded := `{"error":"Encoded bodies are not accepted","code":"unsupported_media","hint":"Send it without Content-Encoding"}`
	media := `{"error":"The body must be JSON","code":"unsupported_media","hint":"Send Content-Type: application/json"}`
	cases := []struct {
		name, target, body string
		header             []string
		status             int
		respond            string
	}{
		{"JSON", "/", "{}", nil, 200, "2"},
		{"at the cap", "/", "0123456789", nil, 200, "10"},
		{
			"over the cap", "/", "0123456789x", nil,
			413, `{"error":"The body is too large","code":"too_large","hint":"The limit is 10 bytes"}`,
		},
		{
			"over MiB", "/mib", strings.Repeat("x", 8<<20+1), nil,
			413, `{"error":"The body is too large","code":"too_large","hint":"The limit is 8 MiB"}`,
		},
		{
			"over KiB", "/kib", strings.Repeat("x", 2<<10+1), nil,
			413, `{"error":"The body is too large","code":"too_large","hint":"The limit is 2 KiB"}`,
		},
		{"JSON in UTF-8", "/", "{}", []string{"Content-Type", "application/json; charset=UTF-8"}, 200, "2"},
		{"identity", "/", "{}", []string{"Content-Encoding", "identity"}, 200, "2"},
		{"gzip", "/", "{}", []string{"Content-Encoding", "gzip"}, 415, encoded},
		{"text/plain", "/", "{}", []string{"Content-Type", "text/plain"}, 415, media},
		{"a form", "/", "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, media},
		{"no type", "/", "{}", []string{"Content-Type", ""}, 415, media},
		{"a broken type", "/", "{}", []string{"Content-Type", "application/json; ="}, 415, media},
		{"UTF-16", "/", "{}", []string{"Content-Type", "application/json; charset=utf-16"}, 415, media},
		{"no body needs no type", "/", "", nil, 200, "0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			requireAnswer(t, call(e, "POST", c.target, c.body, c.header...), c.status, c.respond)
		})
	}
}

// exchange writes raw bytes and reads one response.
func exchange(t *testing.T, server *httptest.Server, write func(net.Conn)) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	go write(conn)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, readAnswer(t, resp)
}

func TestBodiesThatMisbehaveOnTheWire(t *testing.T) {
	t.Parallel()
	patient, hasty := httpapi.New(httpapi.Options{}), httpapi.New(httpapi.Options{BodyTimeout: 50 * time.Millisecond})
	patient.POST("/", bodyLength(1<<20))
	hasty.POST("/", bodyLength(1<<20))
	server, hastyServer := startServer(t, patient), startServer(t, hasty)
	tooLarge := `{"error":"The body is too large","code":"too_large","hint":"The limit is 1 MiB"}`
	const head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	mib := strings.Repeat("x", 1<<20)
	cases := []struct {
		name    string
		write   func(net.Conn)
		status  int
		respond string
	}{
		{"5 MiB declared, 1 MiB and a byte sent", func(c net.Conn) {
			_, _ = io.WriteString(c, head+"Content-Length: 5242880\r\n\r\n"+mib+"x")
		}, 413, tooLarge},
		{"endless chunks", func(c net.Conn) {
			_, err := io.WriteString(c, head+"Transfer-Encoding: chunked\r\n\r\n")
			for err == nil {
				_, err = io.WriteString(c, "400\r\n"+mib[:0x400]+"\r\n")
			}
		}, 413, tooLarge},
		{"bytes that trickle", func(c net.Conn) {
			_, _ = io.WriteString(c, head+"Content-Length: 10\r\n\r\n{") // the remaining bytes never arrive
		}, 503, `{"error":"The body did not arrive in time","code":"unavailable"}`},
		{"an end in the middle of the body", func(c net.Conn) {
			_, _ = io.WriteString(c, head+"Content-Length: 10\r\n\r\n{")
			_ = c.(*net.TCPConn).CloseWrite()
		}, 400, `{"error":"The body ended early","code":"invalid"}`},
		{"broken chunks", func(c net.Conn) {
			_, _ = io.WriteString(c, head+"Transfer-Encoding: chunked\r\n\r\nxyz\r\n")
		}, 400, `{"error":"The body cannot be read","code":"invalid"}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			at := server
			if c.status == http.StatusServiceUnavailable {
				at = hastyServer
			}
			status, respond := exchange(t, at, c.write)
			if status != c.status || respond != c.respond {
				t.Fatalf("got %d %s", status, respond)
			}
		})
	}
	t.Run("headers over the cap", func(t *testing.T) {
		status, _ := exchange(t, server, func(c net.Conn) {
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("y", 33<<10)+"\r\n\r\n")
		})
		if status != http.StatusRequestHeaderFieldsTooLarge {
			t.Fatalf("status %d", status)
		}
	})
}

// Handlers may take longer than the body's deadline, with and without a body.
func TestTheBodyDeadlineDoesNotLimitTheHandler(t *testing.T) {
	t.Parallel()
	const deadline = 50 * time.Millisecond
	e := httpapi.New(httpapi.Options{BodyTimeout: deadline})
	slow := func(c echo.Context) error {
		if _, err := httpapi.ReadBody(c, 10); err != nil {
			return err
		}
		select {
		case <-c.Request().Context().Done():
			return c.String(http.StatusOK, "cut")
		case <-time.After(3 * deadline):
			return c.String(http.StatusOK, "whole")
		}
	}
	e.POST("/", slow)
	e.GET("/", slow)
	server := startServer(t, e)
	for range 2 { // the second time on a kept connection
		resp, err := http.Post(server.URL, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if got := readAnswer(t, resp); got != "whole" {
			t.Errorf("POST: %s", got)
		}
		if resp, err = http.Get(server.URL); err != nil {
			t.Fatal(err)
		}
		if got := readAnswer(t, resp); got != "whole" {
			t.Errorf("GET: %s", got)
		}
	}
}
