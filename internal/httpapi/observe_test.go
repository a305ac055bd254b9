package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
	"bellhop/internal/observe"
	"bellhop/protocol"
)

// requests is an observer that writes down requests.
type requests struct {
	mu   sync.Mutex
	seen []string
}

func (r *requests) Begin(ctx context.Context, _ observe.Start) (context.Context, observe.Observer) {
	return ctx, r
}

func (r *requests) End(_ context.Context, start observe.Start, _ time.Duration, out observe.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, start.Method+" "+start.Name+" "+strconv.Itoa(out.Status)+" "+out.ResultOf())
}

func (r *requests) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

func TestRequestsAreObservedByTheirRoute(t *testing.T) {
	t.Parallel()
	seen := &requests{}
	e := httpapi.New(httpapi.Options{Observer: seen})
	e.GET("/tasks/:id", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	e.GET("/refused", func(echo.Context) error {
		return &protocol.Error{Code: protocol.CodeBadGateway, Message: "no", Relayed: "the host's own word"}
	})
	e.GET("/panic", func(echo.Context) error { panic("bug") })
	for _, target := range []string{
		"GET /tasks/some-id", "GET /refused", "GET /panic", "GET /no-such-route", "POST /tasks/some-id", "GET /tasks/",
	} {
		method, path, _ := strings.Cut(target, " ")
		rec := httptest.NewRecorder()
		e.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), method, path, nil))
	}
	want := []string{
		"GET /tasks/:id 200 ok", "GET /refused 502 bad_gateway", "GET /panic 500 internal", "GET none 404 not_found",
		"POST /tasks/:id 405 method_not_allowed", "GET none 404 not_found",
	}
	if !slices.Equal(seen.seen, want) {
		t.Errorf("observed\n%q, want\n%q", seen.seen, want)
	}
}

// A stream that is cut ends by a panic, which closes its connection. It is not open afterwards.
func TestAnAbortedRequestIsObservedAsEnded(t *testing.T) {
	t.Parallel()
	seen := &requests{}
	e := httpapi.New(httpapi.Options{Observer: seen})
	e.GET("/cut", func(c echo.Context) error {
		c.Response().WriteHeader(http.StatusOK)
		panic(http.ErrAbortHandler)
	})
	func() {
		defer func() {
			if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
				t.Errorf("the server gets the panic %v", err)
			}
		}()
		e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/cut", nil))
	}()
	if want := []string{"GET /cut 200 ok"}; !slices.Equal(seen.seen, want) {
		t.Errorf("observed %q, want %q", seen.seen, want)
	}
}
