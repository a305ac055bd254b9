package stream

import (
	"context"
	"errors"
	"sync"
)

// ErrCredentialEnded is the cause that ends the context of a stream whose credential has ended.
var ErrCredentialEnded = errors.New("the sign-in or API token that the stream was opened for has ended")

// Credential is a sign-in or an API token of a broker.
type Credential struct{ BrokerID, ID string }

// CredentialStreams are the open streams of each credential. The zero value has none. It is safe for
// concurrent use.
type CredentialStreams struct {
	mu   sync.Mutex
	last uint64
	open map[Credential]map[uint64]context.CancelCauseFunc
}

// Add returns the context of a stream, which End ends with ErrCredentialEnded. The caller must call leave
// when the stream has ended.
func (c *CredentialStreams) Add(ctx context.Context, of Credential) (held context.Context, leave func()) {
	held, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	no := c.last
	if c.open == nil {
		c.open = map[Credential]map[uint64]context.CancelCauseFunc{}
	}
	if c.open[of] == nil {
		c.open[of] = map[uint64]context.CancelCauseFunc{}
	}
	c.open[of][no] = cancel
	return held, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(c.open[of], no); len(c.open[of]) == 0 {
			delete(c.open, of)
		}
		cancel(context.Canceled)
	}
}

// End ends the streams of a credential that are open now.
func (c *CredentialStreams) End(of Credential) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.open[of] {
		cancel(ErrCredentialEnded)
	}
}
