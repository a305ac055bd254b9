package mockllm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// TB is the part of testing.TB that New needs.
type TB interface {
	Helper()
	Cleanup(func())
}

// Server is the model. It is safe for concurrent use.
type Server struct {
	URL string // http://127.0.0.1:port; "" unless created by New

	delay    time.Duration
	mux      *http.ServeMux
	sequence atomic.Int64

	mu       sync.Mutex
	requests []Request
	failures []answer // for the next requests
}

// New starts a server on the loopback until the test ends.
func New(t TB) *Server {
	t.Helper()
	s := NewServer(time.Millisecond)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	s.URL = web.URL
	return s
}

// NewServer returns the handler; delay is the pause between the pieces of a response.
func NewServer(delay time.Duration) *Server {
	s := &Server{delay: delay, mux: http.NewServeMux()}
	for _, prefix := range []string{"", "/v1"} {
		s.mux.HandleFunc("POST "+prefix+"/messages", s.complete(Anthropic))
		s.mux.HandleFunc("POST "+prefix+"/chat/completions", s.complete(Chat))
		s.mux.HandleFunc("POST "+prefix+"/responses", s.complete(Responses))
	}
	s.mux.HandleFunc("POST /v1/messages/count_tokens", fixed(`{"input_tokens":42}`))
	s.mux.HandleFunc("POST /v1beta/models/{rest...}", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ":countTokens") {
			fixed(`{"totalTokens":42}`)(w, r)
			return
		}
		s.complete(Gemini)(w, r)
	})
	s.mux.HandleFunc("GET /v1/models",
		fixed(`{"object":"list","data":[{"id":"mock-1","object":"model","created":1,"owned_by":"mock","type":"model","display_name":"Mock 1"}],"has_more":false}`))
	s.mux.HandleFunc("GET /healthz", fixed(`"ok"`))
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"type":"not_found_error","message":"mock: no such endpoint"}}`)
	})
	return s
}

// ServeHTTP serves every dialect.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Requests returns the requests for completions so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// FailNext answers the next requests with a status; retryAfter, unless "", is sent as
// Retry-After.
func (s *Server) FailNext(times, status int, retryAfter string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range times {
		s.failures = append(s.failures, answer{status: status, retryAfter: retryAfter})
	}
}

// CutNext cuts the connection of the next requests after their headers.
func (s *Server) CutNext(times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range times {
		s.failures = append(s.failures, answer{drop: true})
	}
}

// script records a request and chooses the response.
func (s *Server) script(r *Request) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, *r)
	if len(s.failures) > 0 {
		next := s.failures[0]
		s.failures = s.failures[1:]
		return next
	}
	return r.answer(s.delay)
}

func fixed(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

var geminiModel = regexp.MustCompile(`models/([^:]+):`)

func (s *Server) complete(dialect string) http.HandlerFunc {
	return func(w http.ResponseWriter, hr *http.Request) {
		raw, err := io.ReadAll(hr.Body)
		if err != nil {
			return
		}
		r, err := parse(dialect, raw)
		if err != nil {
			fail(w, dialect, http.StatusBadRequest, err.Error())
			return
		}
		r.Key = key(hr)
		if dialect == Gemini {
			r.Stream = strings.Contains(hr.URL.Path, ":stream")
			if model := geminiModel.FindStringSubmatch(hr.URL.Path); model != nil {
				r.Model = model[1]
			}
		}
		s.write(w, hr.Context(), r, s.script(r))
	}
}

func key(hr *http.Request) string {
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key"} {
		if value := hr.Header.Get(name); value != "" {
			return value
		}
	}
	return strings.TrimPrefix(hr.Header.Get("Authorization"), "Bearer ")
}

func (s *Server) write(w http.ResponseWriter, ctx context.Context, r *Request, a answer) {
	if a.status != 0 {
		if a.status == http.StatusTooManyRequests && a.retryAfter == "" {
			a.retryAfter = "1"
		}
		if a.retryAfter != "" {
			w.Header().Set("Retry-After", a.retryAfter)
		}
		fail(w, r.Dialect, a.status, fmt.Sprintf("mock error %d", a.status))
		return
	}
	if !r.Stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, encode(s.unstreamed(r, a)))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	out := &stream{server: s, w: w, control: http.NewResponseController(w), ctx: ctx, delay: a.delay}
	out.flush()
	if a.hang {
		<-ctx.Done()
		return
	}
	switch r.Dialect {
	case Anthropic:
		out.anthropic(r, a)
	case Chat:
		out.chat(r, a)
	case Responses:
		out.responses(r, a)
	case Gemini:
		out.gemini(r, a)
	}
	if a.drop {
		panic(http.ErrAbortHandler) // cuts the connection before the end of the response
	}
}

var errorTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error",
	500: "api_error", 529: "overloaded_error",
}

func fail(w http.ResponseWriter, dialect string, status int, message string) {
	body := object{"error": object{"type": errorTypes[status], "code": errorTypes[status], "message": message}}
	if dialect == Anthropic {
		body = object{"type": "error", "error": object{"type": errorTypes[status], "message": message}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (s *Server) id(kind string) string { return fmt.Sprintf("%s_mock%06d", kind, s.sequence.Add(1)) }

// stream writes server-sent events.
type stream struct {
	server  *Server
	w       io.Writer
	control *http.ResponseController
	ctx     context.Context //nolint:containedctx // of the one request
	delay   time.Duration
}

func (s *stream) flush() { _ = s.control.Flush() }

func (s *stream) event(name string, v any) {
	if name != "" {
		_, _ = fmt.Fprintf(s.w, "event: %s\n", name)
	}
	_, _ = fmt.Fprintf(s.w, "data: %s\n\n", encode(v))
	s.flush()
}

// each calls do for every piece, with the delay before it. It returns false when the client has
// disconnected.
func (s *stream) each(pieces []string, do func(string)) bool {
	for _, piece := range pieces {
		timer := time.NewTimer(s.delay)
		select {
		case <-timer.C:
		case <-s.ctx.Done():
			timer.Stop()
			return false
		}
		do(piece)
	}
	return true
}

// chunks cuts a text into pieces of some 24 bytes.
func chunks(s string) []string {
	var out []string
	for len(s) > 24 {
		n := 24
		for n < len(s) && s[n]&0xC0 == 0x80 {
			n++
		}
		out, s = append(out, s[:n]), s[n:]
	}
	return append(out, s)
}
