package testenv

import (
	"context"
	"net"
	"sync"
)

// Pipes is a listener in memory. Its connections work with the fake clock of a synctest bubble, which those of
// the operating system do not: the clock stands still while a goroutine waits for the network.
type Pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	close  sync.Once
}

// NewPipes returns a listener. Call it inside the bubble.
func NewPipes() *Pipes { return &Pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Dial connects to the listener, whatever the address. It is for http.Transport.DialContext.
func (p *Pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It may be repeated.
func (p *Pipes) Close() error {
	p.close.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *Pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
