package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
	"bellhop/internal/sse"
)

// A stream that responds to a POST continues after the body's deadline, whether its handler
// read the body or not, and ends when the peer disconnects.
func TestStreamsOutliveTheBodyDeadline(t *testing.T) {
	t.Parallel()
	const deadline = 50 * time.Millisecond
	for name, read := range map[string]bool{"body read": true, "body unread": false} {
		t.Run(name, func(t *testing.T) {
			fanout, ended := sse.NewFanout(), make(chan error, 1)
			e := httpapi.New(httpapi.Options{BodyTimeout: deadline})
			e.Use(httpapi.CORS(httpapi.CORSOptions{AllowedOrigins: []string{app}}))
			e.POST("/", func(c echo.Context) error {
				if read {
					if _, err := httpapi.ReadBody(c, 10); err != nil {
						return err
					}
				}
				sub := fanout.Subscribe()
				ended <- sse.Serve(c.Request().Context(), sse.NewWriter(c.Response(), sse.WriterOptions{}), sub,
					sse.ServeOptions{Ping: deadline})
				return nil
			})
			server := startServer(t, e)
			r, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Origin", app)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if got := resp.Header.Get("Access-Control-Allow-Origin"); got != app {
				t.Errorf("a stream without CORS: %q", got)
			}
			reader, pings := sse.NewReader(resp.Body), 0
			reader.OnBytes = func() {
				if pings++; pings == 5 {
					fanout.Publish([]byte("data: x\n\n"))
				}
			}
			if frame, err := reader.Next(); err != nil || string(frame.Data) != "x" {
				t.Fatalf("%+v, %v after %d pings", frame, err, pings)
			}
			if err := resp.Body.Close(); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err == nil {
				t.Error("the stream did not notice that its peer left")
			}
		})
	}
}
