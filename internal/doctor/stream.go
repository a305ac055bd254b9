package doctor

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Stream reads a host's status for 30 s, as browsers read turns: the first byte must come at once,
// and the stream must stay open.
func (p *Prober) Stream(ctx context.Context, h Host) Finding {
	const remedy = "Switch off buffering for text/event-stream in the proxy (nginx: proxy_buffering off), and let idle connections live for 30 s."
	base := strings.TrimRight(h.URL, "/")
	ctx, cancel := context.WithTimeout(ctx, p.StreamFor)
	defer cancel()
	password := ""
	if len(h.Passwords) > 0 {
		password = h.Passwords[0]
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	silence := time.AfterFunc(p.FirstByte, stop)
	defer silence.Stop()
	resp, err := p.send(reading, request{method: http.MethodGet, url: base + "/status/events", header: map[string]string{"Authorization": "Bearer " + password}})
	if err == nil && resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return Failed(CheckStreams, h.Name, fmt.Sprintf("GET /status/events is answered %d.", resp.StatusCode), "Correct what the other checks report.")
	}
	bytes := 0
	if err == nil {
		defer func() { _ = resp.Body.Close() }()
		buffer := make([]byte, 32<<10)
		for err == nil {
			var n int
			if n, err = resp.Body.Read(buffer); n > 0 {
				bytes += n
				silence.Reset(p.Silence)
			}
		}
	}
	switch {
	case ctx.Err() != nil && bytes > 0:
		return Good(CheckStreams, h.Name, "A stream arrives as it is sent, and stays open.")
	case bytes == 0 && reading.Err() != nil:
		return Failed(CheckStreams, h.Name, fmt.Sprintf("No byte of a stream arrives within %v: a proxy holds it back.", p.FirstByte), remedy)
	case reading.Err() != nil:
		return Failed(CheckStreams, h.Name, fmt.Sprintf("A stream was silent for %v, although a comment is sent every 10 s.", p.Silence), remedy)
	}
	return Failed(CheckStreams, h.Name, "A stream was cut: "+err.Error()+".", remedy)
}
