package doctor_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"bellhop/internal/doctor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// response is what a server answers: a status, and a body that is written until ctx ends.
type response struct {
	status int
	write  func(ctx context.Context, body io.Writer)
}

// network answers requests in place of a network; without a response it is silent.
type network func(*http.Request) *response

func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := n(r)
	if answer == nil {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	reader, writer := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = writer.CloseWithError(r.Context().Err()) })
	go func() {
		answer.write(r.Context(), writer)
		_ = writer.CloseWithError(io.ErrUnexpectedEOF)
	}()
	return &http.Response{StatusCode: answer.status, Body: reader, Request: r}, nil
}

func nothing(context.Context, io.Writer) {}

func endless(ctx context.Context, _ io.Writer) { <-ctx.Done() }

func frame(_ context.Context, body io.Writer) { _, _ = io.WriteString(body, "event: status\n\n") }

// silence writes one frame and then nothing.
func silence(ctx context.Context, body io.Writer) {
	frame(ctx, body)
	<-ctx.Done()
}

// comments writes a frame every ten seconds.
func comments(ctx context.Context, body io.Writer) {
	for ctx.Err() == nil {
		frame(ctx, body)
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
		}
	}
}

// A proxy may hold a stream back until it ends, cut it, or pass no comments.
func TestAStreamThatAProxyHoldsBackOrCutsIsFound(t *testing.T) {
	t.Parallel()
	always := func(r *response) network { return func(*http.Request) *response { return r } }
	for name, tt := range map[string]struct {
		network network
		level   doctor.Level
		want    string
	}{
		"a stream":          {always(&response{200, comments}), doctor.OK, "stays open"},
		"held back":         {always(nil), doctor.Error, "holds it back"},
		"only a header":     {always(&response{200, endless}), doctor.Error, "holds it back"},
		"silent":            {always(&response{200, silence}), doctor.Error, "silent"},
		"cut":               {always(&response{200, frame}), doctor.Error, "was cut"},
		"forbidden":         {always(&response{403, nothing}), doctor.Error, "403"},
		"no valid password": {always(&response{401, nothing}), doctor.Error, "401"},
		"the host still has its old password": {func(r *http.Request) *response {
			if r.Header.Get("Authorization") != "Bearer old" {
				return &response{401, nothing}
			}
			return &response{200, comments}
		}, doctor.OK, "stays open"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := doctor.NewProber(time.Now)
				p.HTTP = &http.Client{Transport: tt.network}
				host := doctor.Host{Name: name, URL: "http://host.example", Passwords: []string{"new", "old"}}
				got := p.Stream(t.Context(), host)
				if got.Level != tt.level || !strings.Contains(got.Message, tt.want) || got.Where != name {
					t.Errorf("%+v", got)
				}
				if (got.Level == doctor.OK) != (got.Remedy == "") {
					t.Errorf("the remedy is %q", got.Remedy)
				}
			})
		})
	}
}

func TestAStreamOfAHostWithoutPasswordIsNotRead(t *testing.T) {
	t.Parallel()
	got := doctor.NewProber(time.Now).Stream(t.Context(), doctor.Host{Name: "h", URL: "http://127.0.0.1:1"})
	if got.Level != doctor.Error || !strings.Contains(got.Message, "no password") {
		t.Errorf("%+v", got)
	}
}
