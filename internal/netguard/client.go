package netguard

import (
	"fmt"
	"net"
	"net/http"
	"time"
)

// Timeouts of a Client. Zero fields get the values in their comment.
type Timeouts struct {
	Connect time.Duration // 5 s
	TLS     time.Duration // 5 s
	Header  time.Duration // 15 s, from the end of the request to the response headers
	Total   time.Duration // 30 s including the body; negative = no limit
}

func (t Timeouts) withDefaults() Timeouts {
	for _, d := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{
		{&t.Connect, 5 * time.Second},
		{&t.TLS, 5 * time.Second},
		{&t.Header, 15 * time.Second},
		{&t.Total, 30 * time.Second},
	} {
		if *d.value == 0 {
			*d.value = d.fallback
		}
	}
	t.Total = max(t.Total, 0)
	return t
}

// Client checks every request's URL and every dialled address, ignores proxy variables, asks
// for no compression and returns redirects instead of following them. The caller must limit the
// size of responses.
func (g *Guard) Client(timeouts Timeouts) *http.Client {
	timeouts = timeouts.withDefaults()
	dialer := &net.Dialer{Timeout: timeouts.Connect, Control: g.Control}
	return &http.Client{
		Timeout:       timeouts.Total,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &transport{guard: g, next: &http.Transport{
			Proxy:                  nil, // a proxy would dial for us, unchecked
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    timeouts.TLS,
			ResponseHeaderTimeout:  timeouts.Header,
			ExpectContinueTimeout:  time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConnsPerHost:    4,
			MaxIdleConns:           256,
			IdleConnTimeout:        90 * time.Second,
			DisableCompression:     true,
			ForceAttemptHTTP2:      true,
		}},
	}
}

type transport struct {
	guard *Guard
	next  *http.Transport
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.guard.checkURL(r.URL.String()); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // RoundTrip must close it
		}
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return t.next.RoundTrip(r)
}

// CloseIdleConnections is called by http.Client.
func (t *transport) CloseIdleConnections() { t.next.CloseIdleConnections() }
