package doctor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Stream reads a host's status for 30 s, as browsers read turns: the first byte must come at once,
// and the stream must stay open.
func (p *Prober) Stream(ctx context.Context, h Host) Finding {
	ctx, cancel := context.WithTimeout(ctx, p.StreamFor)
	defer cancel()
	reading, stop := context.WithCancel(ctx)
	defer stop()
	silence := time.AfterFunc(p.FirstByte, stop)
	defer silence.Stop()
	resp, err := p.openStream(reading, h)
	if err == nil && resp == nil {
		return Failed(CheckStreams, h.Name, "It has no password.", setPassword)
	}
	bytes := 0
	if err == nil {
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			return Failed(CheckStreams, h.Name, fmt.Sprintf("GET /status/events is answered %d.", resp.StatusCode),
				"Correct what the other checks report.")
		}
		bytes, err = readStream(resp.Body, func() { silence.Reset(p.Silence) })
	}
	if ctx.Err() != nil && bytes > 0 {
		return Good(CheckStreams, h.Name, "A stream arrives as it is sent, and stays open.")
	}
	message := fmt.Sprintf("A stream was cut: %v.", err)
	switch {
	case bytes == 0 && reading.Err() != nil:
		message = fmt.Sprintf("No byte of a stream arrives within %v: a proxy holds it back.", p.FirstByte)
	case reading.Err() != nil:
		message = fmt.Sprintf("A stream was silent for %v, although a comment is sent every 10 s.", p.Silence)
	}
	return Failed(CheckStreams, h.Name, message, "Switch off buffering for text/event-stream in the proxy "+
		"(nginx: proxy_buffering off), and let idle connections live for 30 s.")
}

// openStream sends the host's passwords until one is accepted. It returns nil if there
// is none.
func (p *Prober) openStream(ctx context.Context, h Host) (resp *http.Response, err error) {
	for _, r := range withPasswords(h, strings.TrimRight(h.URL, "/")+"/status/events") {
		if resp != nil {
			_ = resp.Body.Close()
		}
		if resp, err = p.send(ctx, r); err != nil || resp.StatusCode != http.StatusUnauthorized {
			break
		}
	}
	return resp, err
}

// readStream reads until an error, which it returns with the number of bytes. It calls
// arrived after each read.
func readStream(body io.Reader, arrived func()) (bytes int, err error) {
	for buffer := make([]byte, 32<<10); err == nil; {
		var n int
		if n, err = body.Read(buffer); n > 0 {
			bytes += n
			arrived()
		}
	}
	return bytes, err
}
