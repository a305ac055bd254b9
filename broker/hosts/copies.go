package hosts

import (
	"context"
	"sync"
	"time"

	"bellhop/protocol"
)

// Times of reports that a host obeys a broker on another copy of the database.
const (
	copyShown  = 40 * time.Second
	copyLogged = time.Minute
)

// copies notes such hosts. The zero value is ready.
type copies struct {
	mu     sync.Mutex
	text   string
	at     time.Time // the last refusal
	logged time.Time
}

// note notes a refusal and reports whether that is to be logged.
func (n *copies) note(text string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.text, n.at = text, now
	if now.Before(n.logged.Add(copyLogged)) {
		return false
	}
	n.logged = now
	return true
}

// noteCopy reports a host that obeys a broker on another copy of the database.
func (c *Client) noteCopy(ctx context.Context, url string, got *response) {
	body := got.errorBody()
	if !got.named || body.Code != protocol.CodeTwoCopies {
		return
	}
	if c.copies.note(body.Error, time.Now()) {
		c.log.WarnContext(ctx, "a host does not obey this broker", "host", url, "why", body.Error)
	}
}

// CopyNotice says that hosts obey a broker on another copy of the database, "" if none did so a moment ago.
func (c *Client) CopyNotice() string {
	c.copies.mu.Lock()
	defer c.copies.mu.Unlock()
	if c.copies.text == "" || time.Since(c.copies.at) >= copyShown {
		return ""
	}
	return c.copies.text
}
