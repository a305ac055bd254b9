package api

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

const (
	relayBuffer = 8 << 10          // thousands wait with one each
	relayWrite  = 30 * time.Second // a reader that takes nothing for so long is cut
)

// toHost and toBrowser are the headers that a relay passes on, beside those that it
// has a rule for. Cookies are the broker's own, and its CORS headers replace the
// host's.
var (
	toHost    = []string{"Accept", "Content-Encoding", "Content-Type", "Last-Event-ID"}
	toBrowser = []string{"Retry-After", "X-Vercel-Ai-Ui-Message-Stream"}
)

// relayPolicy is for who opens a stream as a page: hosts are not trusted to write
// pages of the broker's origin.
const relayPolicy = "default-src 'none'; frame-ancestors 'none'; sandbox"

// relay passes a stream through as it comes. The stream token is the host's to
// check, so that no other sign-in is asked for: same token, same answers.
func (a *API) relay(c echo.Context) error {
	r := c.Request()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	w := c.Response().Writer // Echo's own is another request's once this one is over, while the prompt may still be read
	control := http.NewResponseController(w)
	defer context.AfterFunc(a.ending(), func() {
		cancel()
		_ = control.SetWriteDeadline(time.Unix(1, 0)) // a reader that takes nothing must not hold up the end
	})()
	prompt := &prompt{body: http.MaxBytesReader(w, r.Body, protocol.MaxLine), control: control}
	answer, err := a.Sessions.Relay(ctx, &broker.RelayRequest{
		SessionID: c.Param("taskId"), Method: r.Method, Query: queryToHost(c.QueryParams()), Header: headerToHost(r.Header),
		Body: prompt, Length: r.ContentLength,
	})
	if err != nil {
		return prompt.explain(err)
	}
	defer func() { _ = answer.Body.Close() }()
	headerToBrowser(c.Response().Header(), answer.Header)
	_ = control.SetReadDeadline(time.Time{}) // the prompt's; the stream may take longer
	c.Response().WriteHeader(answer.StatusCode)
	if err := pass(c.Response(), control, answer.Body); err != nil {
		panic(http.ErrAbortHandler) // a clean end would look like the stream's own
	}
	return nil
}

// headerToHost takes over what is the host's business. A credential is a stream
// token, or else none for hosts: a proxy in front of the broker may ask for its
// own, and programs send their API token with every call.
func headerToHost(from http.Header) http.Header {
	header := http.Header{}
	for _, name := range toHost {
		if values := from.Values(name); len(values) > 0 {
			header[http.CanonicalHeaderKey(name)] = values
		}
	}
	for _, value := range from.Values("Authorization") {
		scheme, credential, _ := strings.Cut(value, " ")
		if strings.EqualFold(scheme, "Bearer") && !ours(credential) {
			header.Add("Authorization", value)
		}
	}
	return header
}

func queryToHost(query url.Values) url.Values {
	for _, token := range query["token"] {
		if ours(token) {
			delete(query, "token")
			break
		}
	}
	return query
}

// ours reports a token of the broker itself, which opens more than a stream.
func ours(token string) bool {
	return strings.HasPrefix(strings.TrimSpace(token), broker.APITokenPrefix)
}

func headerToBrowser(header, from http.Header) {
	for _, name := range toBrowser {
		if value := from.Get(name); value != "" {
			header.Set(name, value)
		}
	}
	if kind := from.Get("Content-Type"); kind != "" {
		header.Set("Content-Type", harmless(kind))
	}
	header.Set("Cache-Control", "no-store, no-transform")
	header.Set("X-Accel-Buffering", "no")
	header.Set("Content-Security-Policy", relayPolicy)
}

// harmless is a media type that no browser takes for a page or a script.
func harmless(kind string) string {
	media, _, err := mime.ParseMediaType(kind)
	switch {
	case err == nil && (media == "text/event-stream" || media == "text/plain"):
		return media + "; charset=utf-8"
	case err == nil && media == "application/json":
		return media
	}
	return "application/octet-stream"
}

// pass hands on what there is, as soon as it is there.
func pass(w http.ResponseWriter, control *http.ResponseController, from io.Reader) error {
	if err := control.Flush(); err != nil {
		return err
	}
	buffer := make([]byte, relayBuffer)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if err := control.SetWriteDeadline(time.Now().Add(relayWrite)); err != nil && !errors.Is(err, http.ErrNotSupported) {
				return err
			}
			if _, err := w.Write(buffer[:n]); err != nil {
				return err
			}
			if err := control.Flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// prompt is the request's body. It remembers why it could not be read, which the
// host cannot know.
type prompt struct {
	body    io.Reader
	control *http.ResponseController

	mu     sync.Mutex
	failed error
}

// Read implements io.Reader. Once all is read the body's deadline is lifted, as
// httpapi.ReadBody does.
func (p *prompt) Read(b []byte) (int, error) {
	n, err := p.body.Read(b)
	switch {
	case errors.Is(err, io.EOF):
		_ = p.control.SetReadDeadline(time.Time{})
	case err != nil:
		p.mu.Lock()
		p.failed = err
		p.mu.Unlock()
	}
	return n, err
}

// explain is the error of a relay that did not come about: the prompt's own, if
// that was the reason.
func (p *prompt) explain(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		return err
	}
	return httpapi.BodyError(p.failed, protocol.MaxLine)
}

// ending ends when End was called.
func (a *API) ending() context.Context {
	a.once.Do(func() { a.alive, a.end = context.WithCancel(context.Background()) })
	return a.alive
}

// End ends what would not end by itself: relayed streams.
func (a *API) End() {
	a.ending()
	a.end()
}
