package faultproxy

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Proxy forwards TCP connections to its target. It is safe for concurrent use.
type Proxy struct {
	addr string
	hold int // a bound socket that never listens: it reserves the port while refusing

	mu       sync.Mutex
	target   string
	mode     Mode
	changed  chan struct{} // closed when mode is replaced
	listener net.Listener  // nil while refusing
	links    map[*link]struct{}
	closed   bool
	wg       sync.WaitGroup
}

// New listens on a free port of 127.0.0.1 and forwards to target: "host:port" or the path of a
// unix socket.
func New(target string) (*Proxy, error) {
	l, err := listen("127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fault proxy: %w", err)
	}
	p := &Proxy{
		addr: l.Addr().String(), target: target, listener: l,
		changed: make(chan struct{}), links: map[*link]struct{}{},
	}
	if p.hold, err = reserve(l.Addr().(*net.TCPAddr).Port); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("fault proxy: %w", err)
	}
	p.wg.Go(func() { p.accept(l) })
	return p, nil
}

// Addr returns the host:port to connect to; it never changes.
func (p *Proxy) Addr() string { return p.addr }

// Retarget forwards new connections elsewhere; open ones are kept.
func (p *Proxy) Retarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Set replaces the mode. The byte counts of a cut restart.
func (p *Proxy) Set(m Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.mode = m
	close(p.changed)
	p.changed = make(chan struct{})
	if m.kind == refuse && p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
	if m.kind != refuse && p.listener == nil {
		l, err := listen(p.addr)
		if err != nil {
			panic("fault proxy: listen again on " + p.addr + ": " + err.Error())
		}
		p.listener = l
		p.wg.Go(func() { p.accept(l) })
	}
	if m.kind == reset || m.kind == refuse {
		for l := range p.links {
			l.reset()
		}
	}
}

// Links returns the number of open connections.
func (p *Proxy) Links() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Close resets every connection and returns when all goroutines have ended.
func (p *Proxy) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.changed)
		if p.listener != nil {
			_ = p.listener.Close()
		}
		for l := range p.links {
			l.reset()
		}
		_ = unix.Close(p.hold)
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *Proxy) current() (Mode, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode, p.changed
}

func (p *Proxy) accept(listener net.Listener) {
	for {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		p.open(c.(*net.TCPConn))
	}
}

func (p *Proxy) open(client *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.mode.kind == reset || p.mode.kind == refuse {
		rst(client)
		return
	}
	l := &link{proxy: p, client: client, done: make(chan struct{})}
	p.links[l] = struct{}{}
	target := p.target
	p.wg.Go(func() {
		l.run(target)
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	})
}

func listen(addr string) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		ctl := c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		})
		if ctl != nil {
			return ctl
		}
		return err
	}}
	return config.Listen(context.Background(), "tcp", addr)
}

func reserve(port int) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		_ = unix.Close(fd)
		return 0, err
	}
	return fd, nil
}

func dial(target string) (halfCloser, error) {
	network := "tcp"
	if strings.HasPrefix(target, "/") {
		network = "unix"
	}
	c, err := net.Dial(network, target)
	if err != nil {
		return nil, err
	}
	return c.(halfCloser), nil
}
