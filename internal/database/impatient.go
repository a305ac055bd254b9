package database

import (
	"net"
	"sync"
	"time"
)

// impatientConn fails a read when the server sends nothing for limit, for example
// because a firewall drops the packets. pgx reads only while it waits for a
// response, so every read gets this deadline unless pgx has set its own.
type impatientConn struct {
	net.Conn
	limit time.Duration

	mu  sync.Mutex
	set bool // pgx has set its own deadline, by which it cancels a context
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
