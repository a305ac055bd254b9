package sse_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/internal/sse"
)

// script answers each attempt with the next response; the last one repeats.
type script struct {
	answers []func(*http.Request) (*http.Response, error)
	ids     []string
	at      []time.Duration
	start   time.Time
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.ids = append(s.ids, r.Header.Get("Last-Event-ID"))
	s.at = append(s.at, time.Since(s.start))
	answer := s.answers[min(len(s.ids), len(s.answers))-1]
	return answer(r)
}

func stream(body string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		return response(200, io.NopCloser(strings.NewReader(body))), nil
	}
}

// silent sends body and then nothing until the request ends.
func silent(body string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		src, dst := io.Pipe()
		go func() {
			_, _ = io.WriteString(dst, body)
			<-r.Context().Done()
			_ = dst.CloseWithError(r.Context().Err())
		}()
		return response(200, src), nil
	}
}

func status(code int, header ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		resp := response(code, io.NopCloser(strings.NewReader(`{"error":"x"}`)))
		resp.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			resp.Header.Set(header[i], header[i+1])
		}
		return resp, nil
	}
}

func response(code int, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}, Body: body,
	}
}

func follow(ctx context.Context, s *script, onFrame func(sse.Frame) error) error {
	s.start = time.Now()
	return sse.Follow(ctx, sse.FollowOptions{
		Client: &http.Client{Transport: s},
		Request: func(lastID string) (*http.Request, error) {
			r, err := http.NewRequest(http.MethodGet, "http://host.invalid/stream", nil)
			if err == nil && lastID != "" {
				r.Header.Set("Last-Event-ID", lastID)
			}
			return r, err
		},
		OnFrame: onFrame,
	})
}

func TestFollowResumesAfterTheLastCompleteFrame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func(*http.Request) (*http.Response, error){
			stream("id: 1\ndata: a\n\nid: 2\ndata: b\n\ndata: without id\n\nid: 3\ndata: ha"), // cut within frame 3
			status(503),
			stream("id: 3\ndata: c\n\nid: 4\n\n"), // frame 4 has no data, but its id counts
			stream("data: done\n\n"),
		}}
		var got []string
		err := follow(t.Context(), s, func(f sse.Frame) error {
			if got = append(got, string(f.Data)); string(f.Data) == "done" {
				return sse.ErrStop
			}
			return nil
		})
		if want := []string{"a", "b", "without id", "c", "done"}; err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q, %v", got, err)
		}
		if want := []string{"", "2", "2", "4"}; !slices.Equal(s.ids, want) {
			t.Fatalf("resumed after %q, want %q", s.ids, want)
		}
	})
}

func TestFollowEndsAtPermanentErrors(t *testing.T) {
	t.Parallel()
	for _, code := range []int{204, 400, 401, 403, 404, 405, 409, 410, 302} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			s := &script{answers: []func(*http.Request) (*http.Response, error){status(code)}}
			err := follow(t.Context(), s, nil)
			var e *sse.StatusError
			if !errors.As(err, &e) || e.Status != code || string(e.Body) != `{"error":"x"}` || len(s.ids) != 1 {
				t.Fatalf("%v after %d attempts", err, len(s.ids))
			}
		})
	}
	t.Run("200 that is no stream", func(t *testing.T) {
		s := &script{answers: []func(*http.Request) (*http.Response, error){status(200)}}
		if err := follow(t.Context(), s, nil); err == nil || len(s.ids) != 1 {
			t.Fatalf("%v after %d attempts", err, len(s.ids))
		}
	})
}

func TestFollowBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func(*http.Request) (*http.Response, error){
			status(500), status(502), status(429), status(408),
			func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") },
			status(500), status(500), status(500), status(500), status(500),
			stream("data: x\n\n"), status(404),
		}}
		if err := follow(t.Context(), s, func(sse.Frame) error { return nil }); err == nil {
			t.Fatal("no error")
		}
		for i := 1; i < len(s.at); i++ {
			gap, base := s.at[i]-s.at[i-1], min(500*time.Millisecond<<(i-1), 30*time.Second)
			if i == len(s.at)-1 {
				base = 500 * time.Millisecond // a frame arrived in between
			}
			if gap < base/2 || gap > min(base*3/2, 30*time.Second) {
				t.Errorf("gap %d is %v, want about %v", i, gap, base)
			}
		}
	})
}

func TestFollowHonoursRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		date := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
		s := &script{answers: []func(*http.Request) (*http.Response, error){
			status(429, "Retry-After", "7"), status(503, "Retry-After", date), status(503, "Retry-After", "999999999"),
			status(503, "Retry-After", "soon"), status(410),
		}}
		if err := follow(t.Context(), s, nil); err == nil {
			t.Fatal("no error")
		}
		gap := func(i int) time.Duration { return s.at[i] - s.at[i-1] }
		if gap(1) != 7*time.Second || s.at[2] != 90*time.Second || gap(3) != time.Hour || gap(4) > time.Second {
			t.Fatalf("attempts at %v", s.at)
		}
	})
}

func TestFollowClosesSilentConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pings := func(r *http.Request) (*http.Response, error) {
			src, dst := io.Pipe()
			go func() {
				for range 10 {
					time.Sleep(20 * time.Second)
					_, _ = dst.Write(sse.Ping)
				}
				<-r.Context().Done()
				_ = dst.CloseWithError(r.Context().Err())
			}()
			return response(200, src), nil
		}
		s := &script{
			answers: []func(*http.Request) (*http.Response, error){silent("id: 1\ndata: a\n\n"), pings, stream("data: end\n\n")},
		}
		var why []error
		s.start = time.Now()
		err := sse.Follow(t.Context(), sse.FollowOptions{
			Client: &http.Client{Transport: s},
			Request: func(string) (*http.Request, error) {
				return http.NewRequest(http.MethodGet, "http://host.invalid", nil)
			},
			OnFrame: func(f sse.Frame) error {
				if string(f.Data) == "end" {
					return sse.ErrStop
				}
				return nil
			},
			OnRetry: func(err error, _ time.Duration) { why = append(why, err) },
		})
		if err != nil || len(why) != 2 || !errors.Is(why[0], sse.ErrIdle) || !errors.Is(why[1], sse.ErrIdle) {
			t.Fatalf("%v, %v", err, why)
		}
		if gap := s.at[2] - s.at[1]; gap < 230*time.Second || gap > 232*time.Second {
			t.Fatalf("comments must keep a connection: given up after %v", gap)
		}
	})
}

func TestFollowEndsWithItsContextAndItsCallbacks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		s := &script{answers: []func(*http.Request) (*http.Response, error){silent("data: x\n\n")}}
		time.AfterFunc(5*time.Second, func() { cancel(reason) })
		if err := follow(ctx, s, func(sse.Frame) error { return nil }); !errors.Is(err, reason) {
			t.Fatal(err)
		}
		mine := errors.New("disk full")
		if err := follow(t.Context(), s, func(sse.Frame) error { return mine }); !errors.Is(err, mine) {
			t.Fatal(err)
		}
	})
}
