package apicheck

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// Transport checks what goes through another transport: an answer when it was read to its end, or is closed.
func (c *Checker) Transport(t testing.TB, inner http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		sent := &record{} // a server may answer while the request is still being sent
		request := r.Clone(r.Context())
		if r.Body != nil && r.Body != http.NoBody {
			request.Body = readCloser{io.TeeReader(r.Body, sent), r.Body}
		}
		answer, err := inner.RoundTrip(request)
		if err != nil || answer.StatusCode == http.StatusSwitchingProtocols {
			return answer, err
		}
		isStream := strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream")
		body := &recordedBody{ReadCloser: answer.Body, isStream: isStream}
		body.finish = sync.OnceFunc(func() {
			c.Exchange(t, r, sent.bytes(), answer.StatusCode, answer.Header, body.got.bytes())
		})
		answer.Body = body
		return answer, nil
	})
}

type roundTripper func(r *http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type readCloser struct {
	io.Reader
	io.Closer
}

// record keeps the bytes that are written to it.
type record struct {
	mu   sync.Mutex
	kept bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept.Write(p)
}

func (r *record) bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.kept.Bytes())
}

// recordedBody keeps the bytes that were read of a body.
type recordedBody struct {
	io.ReadCloser

	isStream bool
	got      record
	finish   func()
}

func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	_, _ = b.got.Write(p[:n])
	if errors.Is(err, io.EOF) {
		b.finish()
	}
	return n, err
}

// Close reads the rest first, unless the body is a stream, which may have no end.
func (b *recordedBody) Close() error {
	if !b.isStream {
		_, _ = io.Copy(io.Discard, b)
	}
	err := b.ReadCloser.Close()
	b.finish()
	return err
}
