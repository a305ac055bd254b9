package database

import (
	"net"
	"sync"
	"time"
)

// impatientConn gives up on a peer that owes an answer and stays silent for
// limit, as behind a firewall that swallows packets. pgx reads only while it
// waits for an answer, so every read has a deadline unless pgx set its own.
type impatientConn struct {
	net.Conn
	limit time.Duration

	mu  sync.Mutex
	set bool // pgx has a deadline in force: cancelling a context works by one
}

func (c *impatientConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	var err error
	if !c.set {
		err = c.Conn.SetReadDeadline(time.Now().Add(c.limit))
	}
	c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *impatientConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set = !t.IsZero()
	return c.Conn.SetDeadline(t)
}

func (c *impatientConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set = !t.IsZero()
	return c.Conn.SetReadDeadline(t)
}
