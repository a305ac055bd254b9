package api

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/coder/websocket"

	"bellhop/agenthost"
	"bellhop/internal/sse"
	"bellhop/internal/wsline"
	"bellhop/protocol"
)

// channels holds a channel for each session that has WebSocket clients.
type channels struct {
	host   *agenthost.Host
	limits wsline.Limits
	settle time.Duration // how long a call may wait for its question; 0 = 1 s

	version string
	board   board // the announcements of brokers

	mu      sync.Mutex
	byID    map[string]*channel
	stopped bool
	clients sync.WaitGroup
}

// defaultSettle is how long a call may wait for its question before clients learn that it
// runs: agents ask about a call at once.
const defaultSettle = time.Second

// channel converts one session's stream to lines for all of its clients. It exists
// from the first client to the last.
type channel struct {
	channels *channels
	session  string
	hub      *wsline.Hub
	clients  int // guarded by channels.mu
	cancel   context.CancelFunc

	// mu orders lines: it is held while frames are converted and while a turn
	// starts, so that the line about the start comes before the turn's lines.
	mu         sync.Mutex
	subscribed bool
	lines      *agenthost.Lines
	lastID     string      // stream id of the newest published frame
	settling   *time.Timer // publishes that calls run, if no question about them comes
}

// join adds a client to a session's channel, which it creates if needed. The caller
// must release the channel.
func (a *channels) join(ctx context.Context, session string) (*channel, *wsline.Watcher, error) {
	for range 4 {
		c := a.acquire(session)
		if c == nil {
			break
		}
		err := c.subscribe(ctx)
		if err == nil {
			var w *wsline.Watcher
			if w, err = a.watch(c); err == nil {
				return c, w, nil
			}
		}
		c.release()
		if protocol.CodeOf(err) != protocol.CodeGone {
			return nil, nil, err
		}
		// The channel was closing. A new one checks whether the session still
		// exists.
	}
	return nil, nil, &protocol.Error{Code: protocol.CodeUnavailable, Message: "The agent host is stopping", RetryAfter: 5}
}

func (a *channels) acquire(session string) *channel {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return nil
	}
	c := a.byID[session]
	if c == nil {
		c = &channel{channels: a, session: session, hub: wsline.NewHub(a.limits, zeroTime), lines: a.host.Lines(session)}
		a.byID[session] = c
	}
	c.clients++
	a.clients.Add(1)
	return c
}

func (c *channel) release() {
	c.channels.mu.Lock()
	defer c.channels.mu.Unlock()
	c.channels.clients.Done()
	if c.clients--; c.clients > 0 {
		return
	}
	c.channels.removeLocked(c)
	if c.cancel != nil {
		c.cancel()
	}
}

// removeLocked removes the channel. The caller holds mu.
func (a *channels) removeLocked(c *channel) {
	if a.byID[c.session] == c {
		delete(a.byID, c.session)
	}
}

// subscribe attaches to the session's stream once, before the first client watches,
// so that this client gets the open turn.
func (c *channel) subscribe(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscribed {
		return nil
	}
	stream, err := c.channels.host.Attach(ctx, c.session, "", true)
	if err != nil {
		return err
	}
	c.subscribed = true
	streamCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.channels.mu.Lock()
	c.cancel = cancel
	c.channels.mu.Unlock()
	c.publishFrames(streamCtx, stream.Backlog)
	go c.forwardFrames(streamCtx, stream)
	return nil
}

// forwardFrames converts frames until the last client has left or the session's
// streams end.
func (c *channel) forwardFrames(ctx context.Context, stream *agenthost.Stream) {
	defer func() { stream.Close() }()
	for {
		batch, err := stream.Live.NextBatch(ctx, nil)
		switch {
		case err == nil:
			c.mu.Lock()
			c.publishFrames(ctx, batch)
			c.mu.Unlock()
			continue
		case errors.Is(err, sse.ErrSlow): // this goroutine was too slow and must resume
			stream.Close()
			if stream, err = c.resume(ctx); err == nil {
				continue
			}
			c.close(websocket.StatusTryAgainLater, "lines were lost: connect again")
		case errors.Is(err, io.EOF):
			c.close(c.channels.closeReason(c.session))
		}
		return
	}
}

var errGap = errors.New("the missing frames are no longer available")

func (c *channel) resume(ctx context.Context) (*agenthost.Stream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stream, err := c.channels.host.Attach(ctx, c.session, c.lastID, true)
	if err != nil {
		return &agenthost.Stream{}, err
	}
	if !isContinuation(stream.Backlog) {
		stream.Close()
		return &agenthost.Stream{}, errGap
	}
	c.publishFrames(ctx, stream.Backlog)
	return stream, nil
}

// publishFrames sends frames to the clients as lines. The caller holds c.mu.
func (c *channel) publishFrames(ctx context.Context, frames [][]byte) {
	for _, frame := range frames {
		if id := frameID(frame); id != "" {
			c.lastID = id
		}
		c.publishLines(c.lines.Translate(ctx, frame))
	}
	if c.settling != nil {
		c.settling.Stop()
		c.settling = nil
	}
	if c.lines.Unsettled() {
		c.settling = time.AfterFunc(cmp.Or(c.channels.settle, defaultSettle), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.publishLines(c.lines.Settle())
		})
	}
}

func (c *channel) publishLines(lines []protocol.Line) {
	for _, line := range lines {
		switch {
		case line.Type == protocol.LineResolved:
			c.hub.QuestionClosed(line.RequestID)
			c.hub.Publish(line)
		case line.Type == protocol.LineInput: // of a turn that no line started
			c.hub.Accepted(line, nil)
		case line.SessionID == "":
			c.hub.Notice(line)
		default:
			c.hub.Publish(line)
		}
		if line.EndsTurn() {
			c.hub.Forget()
		}
	}
	c.hub.Trim()
}

// startTurn starts a turn by a client's line. It publishes the input to the other clients, then
// the turn's first line. Frames of the turn are converted after that.
func (c *channel) startTurn(
	ctx context.Context, grant agenthost.Grant, input *protocol.Line, from *wsline.Watcher,
) error {
	req := &protocol.PromptRequest{Attachments: input.Attachments, Force: input.Force}
	if input.Text != nil {
		req.Prompt = *input.Text
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.channels.host.Input(ctx, grant, req); err != nil {
		return err
	}
	c.hub.Accepted(c.lines.Input(input), from)
	c.publishLines(c.lines.Begin())
	return nil
}

func (c *channel) close(code websocket.StatusCode, reason string) {
	c.channels.mu.Lock()
	c.channels.removeLocked(c)
	c.channels.mu.Unlock()
	c.hub.End(code, reason)
}

// closeReason returns the close code for clients of a session whose streams ended.
func (a *channels) closeReason(session string) (websocket.StatusCode, string) {
	a.mu.Lock()
	stopped := a.stopped
	a.mu.Unlock()
	if stopped {
		return websocket.StatusGoingAway, "the agent host stops"
	}
	if _, err := a.host.OwnerGrant(session); err != nil {
		return websocket.StatusNormalClosure, "the session has ended"
	}
	return websocket.StatusPolicyViolation, "the session's tokens were revoked"
}

// stop refuses new clients and notifies the existing ones, and the readers of streams. They are
// closed when the host's streams end.
func (a *channels) stop() {
	a.mu.Lock()
	a.stopped = true
	a.mu.Unlock()
	a.host.Notice("warning", "The agent host is stopping")
}

func (a *channels) count(session string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.byID[session]; c != nil {
		return c.clients
	}
	return 0
}
