package doctor

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"bellhop/protocol"
)

// Limits of the checks.
const (
	requestLimit = 4 * time.Second
	maxSkew      = 60 * time.Second // what a webhook token's check allows
	certMargin   = 14 * 24 * time.Hour
	maxResponse  = 1 << 20
	// webhookSize is the size of a large request of a host. A proxy with a smaller limit refuses it.
	webhookSize = 900 << 10
	// silenceLimit is longer than the pause between two comments of a stream.
	silenceLimit = 15 * time.Second
	streamFor    = 30 * time.Second
)

// Prober makes the requests. It keeps no connection.
type Prober struct {
	HTTP *http.Client
	Now  func() time.Time

	// Of Stream: how long the first byte may take, the longest silence, and how long it reads.
	FirstByte, Silence, StreamFor time.Duration
}

// NewProber returns a Prober that follows no redirect and uses no proxy of the environment.
func NewProber(now func() time.Time) *Prober {
	return &Prober{
		HTTP: &http.Client{
			Transport: &http.Transport{
				DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: requestLimit}).DialContext,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		Now: now, FirstByte: requestLimit, Silence: silenceLimit, StreamFor: streamFor,
	}
}

// answer is a response that was read whole.
type answer struct {
	status int
	header http.Header
	tls    *tls.ConnectionState
	body   []byte
}

// code returns the code of a Bellhop server's error, or "".
func (a *answer) code() protocol.Code {
	var body protocol.ErrorBody
	if json.Unmarshal(a.body, &body) != nil {
		return ""
	}
	return body.Code
}

// request is one request of a check.
type request struct {
	method, url string
	header      map[string]string
	body        []byte
}

func (p *Prober) do(ctx context.Context, r request) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	resp, err := p.send(ctx, r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	return &answer{resp.StatusCode, resp.Header, resp.TLS, body}, errors.Join(err, resp.Body.Close())
}

func (p *Prober) send(ctx context.Context, r request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	resp, err := p.HTTP.Do(req)
	var wrapped *url.Error
	if errors.As(err, &wrapped) { // it would print the URL with its token
		err = wrapped.Err
	}
	return resp, err
}

// unreachable explains an error of a request.
func unreachable(check, where string, err error, remedy string) Finding {
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		return Failed(CheckTLS, where, "The certificate is not accepted: "+certificate.Err.Error(),
			"Install a certificate for this name, with its chain, from an authority that this machine trusts.")
	case errors.Is(err, context.DeadlineExceeded):
		return Failed(check, where, fmt.Sprintf("No answer within %v.", requestLimit), remedy)
	}
	return Failed(check, where, "It cannot be reached: "+err.Error(), remedy)
}

// server checks GET /readyz of a broker or a host: that one answers, its certificate and its clock.
// ok is false if other checks of the server make no sense.
func (p *Prober) server(ctx context.Context, check, where, base, remedy string) (found []Finding, ok bool) {
	if u, err := url.Parse(base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return []Finding{Failed(check, where, fmt.Sprintf("%q is no http or https URL.", base), remedy)}, false
	}
	a, err := p.do(ctx, request{method: http.MethodGet, url: base + "/readyz"})
	if err != nil {
		return []Finding{unreachable(check, where, err, remedy)}, false
	}
	found = append(p.clock(where, a), p.certificate(where, a)...)
	var ready protocol.Readiness
	isReady := json.Unmarshal(a.body, &ready) == nil && ready.Status == "ready"
	switch {
	case a.status/100 == 3:
		return append(found, Failed(check, where, "It redirects to "+a.header.Get("Location")+", which no client follows.",
			"Use the address that it redirects to.")), false
	case a.code() == protocol.CodeStorageFull:
		return append(found, Failed(CheckDisk, where, "The disk is full.", "Make room. Service resumes by itself.")), true
	case a.code() == protocol.CodeUnavailable:
		return append(found, Failed(check, where, "It is not ready: "+string(a.body), "Its log names the reason.")), true
	case a.status != http.StatusOK || !isReady:
		message := fmt.Sprintf("Another server answers there, with status %d.", a.status)
		return append(found, Failed(check, where, message, remedy)), false
	case ready.Storage == protocol.StorageLow:
		found = append(found, Warn(CheckDisk, where, "The disk has little room left.", "Make room before it is full."))
	}
	return append(found, Good(check, where, "It is ready.")), true
}

// clock compares the Date of a response with this machine's clock.
func (p *Prober) clock(where string, a *answer) []Finding {
	theirs, err := http.ParseTime(a.header.Get("Date"))
	if err != nil {
		return nil
	}
	if skew := p.Now().Sub(theirs).Truncate(time.Second); skew.Abs() > maxSkew {
		return []Finding{Failed(CheckClock, where, fmt.Sprintf("Its clock differs from this machine's by %v.", skew.Abs()),
			"Synchronise the clocks, for example with chrony: tokens of the wrong time are refused.")}
	}
	return []Finding{Good(CheckClock, where, "Its clock agrees.")}
}

func (p *Prober) certificate(where string, a *answer) []Finding {
	if a.tls == nil || len(a.tls.PeerCertificates) == 0 {
		return nil
	}
	end := a.tls.PeerCertificates[0].NotAfter
	if left := end.Sub(p.Now()); left < certMargin {
		return []Finding{Warn(CheckTLS, where, "The certificate ends at "+end.UTC().Format(time.RFC3339)+".", "Renew it.")}
	}
	return []Finding{Good(CheckTLS, where, "The certificate is accepted.")}
}
