package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"bellhop/protocol"
)

// receiver is what a request goes to.
type receiver int

const (
	broker    receiver = iota
	namedHost          // it repeats the request's name in its answer
	otherHost
)

type receiverKey struct{}

// to says what the requests of a context go to: the broker, unless it is called.
func to(ctx context.Context, r receiver) context.Context {
	return context.WithValue(ctx, receiverKey{}, r)
}

// errForeign is the error for an answer that is not that of the receiver to the request (docs/protocol.md, "Whose answer
// it is").
type errForeign struct{ status int }

func (e errForeign) Error() string {
	return fmt.Sprintf("something other than Bellhop answered, with status %d", e.status)
}

// IsForeign reports whether a call failed because something in between answered instead of the broker or the host. The
// call may or may not have arrived.
func IsForeign(err error) bool { return errors.As(err, new(errForeign)) }

// names is a transport that gives each request a name, and returns only the receiver's own answers.
type names struct {
	http.RoundTripper

	named *atomic.Bool // the broker has named itself in an answer, and so does in all
}

// RoundTrip implements http.RoundTripper.
func (n names) RoundTrip(req *http.Request) (*http.Response, error) {
	receiver, _ := req.Context().Value(receiverKey{}).(receiver)
	name := protocol.NewID()
	req = req.Clone(req.Context())
	req.Header.Set(protocol.HeaderRequest, name)
	resp, err := n.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if n.isForeign(receiver, name, resp.Header) {
		_ = resp.Body.Close()
		return nil, errForeign{resp.StatusCode}
	}
	return resp, nil
}

func (n names) isForeign(to receiver, name string, answer http.Header) bool {
	repeated := answer.Get(protocol.HeaderRequest) == name
	switch to {
	case otherHost:
		return false
	case namedHost:
		return !repeated
	}
	named := answer.Get(protocol.HeaderBroker) != ""
	if named {
		n.named.Store(true)
	}
	return n.named.Load() && (!named || !repeated)
}

// CloseIdleConnections lets http.Client close them.
func (n names) CloseIdleConnections() {
	if closer, ok := n.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}
