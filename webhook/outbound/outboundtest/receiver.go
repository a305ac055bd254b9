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

// Request is one that a Receiver got.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
}

// ID is its webhook-id.
func (r Request) ID() string { return r.Header.Get("webhook-id") }

// Verify checks it with the official library, without its clock: tests have
// their own.
func (r Request) Verify(secret seal.Secret) error {
	webhook, err := webhooks.NewWebhook(secret.Reveal())
	if err != nil {
		return err
	}
	return webhook.VerifyIgnoringTimestamp(r.Body, r.Header)
}

// Receiver is an endpoint's other side on loopback.
type Receiver struct {
	*httptest.Server

	mu       sync.Mutex
	requests []Request
	answer   func(w http.ResponseWriter, r *http.Request, n int)
}

// Receive starts one. answer writes the answer to the nth request, from 1; nil
// means 204.
func Receive(t testing.TB, answer func(w http.ResponseWriter, r *http.Request, n int)) *Receiver {
	t.Helper()
	r := &Receiver{answer: answer}
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

// Requests so far.
func (r *Receiver) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Request(nil), r.requests...)
}

// Statuses answers with these in turn; the last one repeats.
func Statuses(statuses ...int) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, n int) {
		status := statuses[min(n, len(statuses))-1]
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "answer %d", n)
	}
}
