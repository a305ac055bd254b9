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
	"bellhop/internal/database"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

const (
	relayBuffer = 8 << 10          // per open stream, and there may be thousands
	relayWrite  = 30 * time.Second // a reader that accepts no byte for so long is disconnected
)

// toHost and toBrowser are the headers that a relay forwards unchanged. Cookies
// belong to the broker and are not forwarded; the host's CORS headers are replaced.
var (
	toHost    = []string{"Accept", "Content-Encoding", "Content-Type", "Last-Event-ID"}
	toBrowser = []string{"Retry-After", "X-Vercel-Ai-Ui-Message-Stream"}
)

// relayPolicy protects a browser that opens a stream as a page. A host must not
// provide pages of the broker's origin.
const relayPolicy = "default-src 'none'; frame-ancestors 'none'; sandbox"

// relay forwards a stream byte by byte. It requires no sign-in, because the host
// checks the stream token.
func (a *API) relay(c echo.Context) error {
	r := c.Request()
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	keepAfterBrowser := context.AfterFunc(r.Context(), cancel)
	defer keepAfterBrowser()
	w := c.Response().Writer // not Echo's writer, which Echo reuses for another request afterwards
	control := http.NewResponseController(w)
	_ = control.EnableFullDuplex() // a host may answer before the prompt was read; HTTP/2 needs no permission
	defer context.AfterFunc(a.ending(), func() {
		cancel()
		_ = control.SetWriteDeadline(time.Unix(1, 0)) // unblocks a write to a reader that accepts no bytes
	})()
	prompt := &prompt{body: http.MaxBytesReader(w, r.Body, protocol.MaxLine), control: control}
	resp, err := a.Sessions.Relay(ctx, &broker.RelayRequest{
		SessionID: c.Param("taskId"), Method: r.Method, Query: queryToHost(c.QueryParams()), Header: headerToHost(r.Header),
		Body: prompt, Length: r.ContentLength,
	})
	if err != nil {
		return prompt.explain(err)
	}
	defer resp.Leave()
	defer func() { _ = resp.Body.Close() }()
	headerToBrowser(c.Response().Header(), resp.Header)
	_ = control.SetReadDeadline(time.Time{}) // the deadline was for reading the prompt; the stream may take longer
	c.Response().WriteHeader(resp.StatusCode)
	if resp.Turn != nil && keepAfterBrowser() {
		defer context.AfterFunc(r.Context(), func() { resp.Turn.EndWith(database.WithoutBudget(ctx), cancel) })()
		err = a.forwardTurn(ctx, c.Response(), control, resp)
	} else {
		err = forward(c.Response(), control, resp.Body)
	}
	if err != nil {
		panic(http.ErrAbortHandler) // a normal return would look like the end of the stream
	}
	return nil
}

// forwardTurn forwards the stream of a basic host. If the browser leaves, it reads on,
// because a basic host may stop when its reader disconnects. The end of the stream is
// the end of the turn.
func (a *API) forwardTurn(
	ctx context.Context, w http.ResponseWriter, control *http.ResponseController, resp *broker.Relayed,
) error {
	stream := io.TeeReader(resp.Body, resp.Turn.Reader(database.WithoutBudget(ctx)))
	left := forward(w, control, stream)
	err := left
	if errors.Is(left, errBrowserLeft) {
		_, err = io.Copy(io.Discard, stream)
	}
	if err == nil {
		if err := resp.Turn.Ended(database.WithBudget(context.WithoutCancel(ctx), databaseTime)); err != nil {
			a.Log.WarnContext(ctx, "the end of a relayed turn is not stored", "error", err)
		}
	}
	return left
}

var errBrowserLeft = errors.New("the browser left")

// headerToHost selects the headers for the host. The only credentials that it
// forwards are stream tokens: a proxy in front of the broker may require its own
// credentials, and programs send their API token with every call.
func headerToHost(from http.Header) http.Header {
	header := http.Header{}
	for _, name := range toHost {
		if values := from.Values(name); len(values) > 0 {
			header[http.CanonicalHeaderKey(name)] = values
		}
	}
	for _, value := range from.Values("Authorization") {
		scheme, credential, _ := strings.Cut(value, " ")
		if strings.EqualFold(scheme, "Bearer") && !isAPIToken(credential) {
			header.Add("Authorization", value)
		}
	}
	return header
}

func queryToHost(query url.Values) url.Values {
	for _, token := range query["token"] {
		if isAPIToken(token) {
			delete(query, "token")
			break
		}
	}
	return query
}

// isAPIToken reports whether a token is the broker's own API token, which allows
// more than a stream.
func isAPIToken(token string) bool {
	return strings.HasPrefix(strings.TrimSpace(token), broker.APITokenPrefix)
}

func headerToBrowser(header, from http.Header) {
	for _, name := range toBrowser {
		if value := from.Get(name); value != "" {
			header.Set(name, value)
		}
	}
	if kind := from.Get("Content-Type"); kind != "" {
		header.Set("Content-Type", safeContentType(kind))
	}
	header.Set("Cache-Control", "no-store, no-transform")
	header.Set("X-Accel-Buffering", "no")
	header.Set("Content-Security-Policy", relayPolicy)
}

// safeContentType returns a media type that no browser treats as a page or a script.
func safeContentType(kind string) string {
	media, _, err := mime.ParseMediaType(kind)
	switch {
	case err == nil && (media == "text/event-stream" || media == "text/plain"):
		return media + "; charset=utf-8"
	case err == nil && media == "application/json":
		return media
	}
	return "application/octet-stream"
}

// forward copies the stream and flushes every part as soon as it arrives.
// errBrowserLeft means that the stream itself is not at fault.
func forward(w http.ResponseWriter, control *http.ResponseController, from io.Reader) error {
	if err := control.Flush(); err != nil {
		return errors.Join(errBrowserLeft, err)
	}
	buffer := make([]byte, relayBuffer)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if err := control.SetWriteDeadline(time.Now().Add(relayWrite)); err != nil && !errors.Is(err, http.ErrNotSupported) {
				return err
			}
			if _, err := w.Write(buffer[:n]); err != nil {
				return errors.Join(errBrowserLeft, err)
			}
			if err := control.Flush(); err != nil {
				return errors.Join(errBrowserLeft, err)
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

// prompt is the request's body. It remembers its read error, because the error of
// the call to the host does not contain it.
type prompt struct {
	body    io.Reader
	control *http.ResponseController

	mu     sync.Mutex
	failed error
}

// Read implements io.Reader. At the end of the body it removes the read deadline,
// as httpapi.ReadBody does.
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

// explain returns the error of a failed relay, or the read error of the prompt if
// that was the cause.
func (p *prompt) explain(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		return err
	}
	return httpapi.BodyError(p.failed, protocol.MaxLine)
}

// ending returns a context that is canceled by End.
func (a *API) ending() context.Context {
	a.once.Do(func() { a.alive, a.end = context.WithCancel(context.Background()) })
	return a.alive
}

// End ends all relayed streams, which may otherwise never end.
func (a *API) End() {
	a.ending()
	a.end()
}
