package outboundtest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"bellhop/crypto/seal"
)

// Request is a request that a Receiver got.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
}

// ID returns the webhook-id.
func (r Request) ID() string { return r.Header.Get("webhook-id") }

// Verify checks the signature with the official library, but not the timestamp: tests have
// their own clock.
func (r Request) Verify(secret seal.Secret) error {
	webhook, err := webhooks.NewWebhook(secret.Reveal())
	if err != nil {
		return err
	}
	return webhook.VerifyIgnoringTimestamp(r.Body, r.Header)
}

// Receiver is an endpoint on loopback that records the requests it gets.
type Receiver struct {
	*httptest.Server

	mu       sync.Mutex
	requests []Request
	answer   func(w http.ResponseWriter, r *http.Request, n int)
}

// NewReceiver returns a Receiver without a server, for tests that bring their own.
func NewReceiver(answer func(w http.ResponseWriter, r *http.Request, n int)) *Receiver {
	return &Receiver{answer: answer}
}

// Receive starts a Receiver. answer writes the response to the nth request, counted from 1; nil
// answers 204.
func Receive(t testing.TB, answer func(w http.ResponseWriter, r *http.Request, n int)) *Receiver {
	t.Helper()
	r := NewReceiver(answer)
	r.Server = httptest.NewServer(r)
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.requests = append(r.requests, Request{Path: request.URL.Path, Header: request.Header.Clone(), Body: body})
	n, answer := len(r.requests), r.answer
	r.mu.Unlock()
	if answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	answer(w, request, n)
}

// Requests returns the requests so far.
func (r *Receiver) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Request(nil), r.requests...)
}

// Statuses answers with these statuses in turn and repeats the last one.
func Statuses(statuses ...int) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, n int) {
		status := statuses[min(n, len(statuses))-1]
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "answer %d", n)
	}
}
