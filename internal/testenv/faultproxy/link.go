package faultproxy

import (
	"net"
	"sync"
	"time"
)

type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// link is one connection: a client, its target, and a pump for each direction.
type link struct {
	proxy  *Proxy
	client *net.TCPConn
	done   chan struct{}

	mu     sync.Mutex
	target halfCloser // nil until dialled
	over   bool

	// sent counts the bytes per direction since the current counting mode was set.
	sent [2]struct {
		since <-chan struct{}
		bytes int64
	}
}

func (l *link) run(target string) {
	defer l.finish(func(c net.Conn) { _ = c.Close() })
	upstream, err := dial(target)
	if err != nil {
		l.reset()
		return
	}
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		rst(upstream)
		return
	}
	l.target = upstream
	l.mu.Unlock()

	var pumps sync.WaitGroup
	pumps.Go(func() { l.pump(request, l.client, upstream) })
	pumps.Go(func() { l.pump(answer, upstream, l.client) })
	pumps.Wait()
}

// pump copies one direction and ends it with a half close. An error in one direction ends both.
func (l *link) pump(d direction, from net.Conn, to halfCloser) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !l.forward(d, buf[:n], to) {
			return
		}
		if err != nil {
			if l.forward(d, nil, to) {
				_ = to.CloseWrite()
			}
			return
		}
	}
}

// forward writes b as the current mode allows. An empty b is the end of the direction, which is
// delayed like data. It returns false when the link has ended.
func (l *link) forward(d direction, b []byte, to net.Conn) bool {
	for waited := false; ; {
		mode, changed := l.proxy.current()
		n := len(b)
		switch mode.kind {
		case blackHole:
			if _, ok := l.wait(changed, 0); !ok {
				return false
			}
			continue
		case latency, trickle:
			if !waited {
				var ok bool
				if waited, ok = l.wait(changed, mode.delay); !ok {
					return false
				}
				continue
			}
			if mode.kind == trickle {
				n, waited = min(n, 1), false
			}
		case cut:
			left, last := l.allowance(d, mode.limit[d], changed, int64(n))
			if last {
				_, _ = to.Write(b[:left])
				l.finish(func(c net.Conn) { _ = c.Close() })
				return false
			}
		}
		if n > 0 {
			if _, err := to.Write(b[:n]); err != nil {
				l.finish(rst)
				return false
			}
		}
		if b = b[n:]; len(b) == 0 {
			return true
		}
	}
}

// allowance counts n bytes towards a cut and returns how many may pass; last means that no more
// may follow.
func (l *link) allowance(d direction, limit int64, since <-chan struct{}, n int64) (int64, bool) {
	sent := &l.sent[d]
	if sent.since != since {
		sent.since, sent.bytes = since, 0
	}
	left := limit - sent.bytes
	sent.bytes += n
	if limit < 0 || n < left || n == 0 {
		return n, false
	}
	return left, true
}

// wait waits for the delay or a change of mode; without a delay it waits for a change. passed
// reports that the delay has passed; ok is false if the link has ended.
func (l *link) wait(changed <-chan struct{}, delay time.Duration) (passed, ok bool) {
	var ring <-chan time.Time
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		ring = timer.C
	}
	select {
	case <-ring:
		return true, true
	case <-changed:
		select {
		case <-l.done:
			return false, false
		default:
			return false, true
		}
	case <-l.done:
		return false, false
	}
}

func (l *link) reset() { l.finish(rst) }

func (l *link) finish(end func(net.Conn)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.over = true
	close(l.done)
	end(l.client)
	if l.target != nil {
		end(l.target)
	}
}

func rst(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
