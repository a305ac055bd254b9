package api

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/coder/websocket"

	"bellhop/agenthost"
	"bellhop/internal/sse"
	"bellhop/internal/wsline"
	"bellhop/protocol"
)

// channels are the sessions whose lines somebody watches.
type channels struct {
	host   *agenthost.Host
	limits wsline.Limits

	mu      sync.Mutex
	open    map[string]*channel
	stopped bool
	clients sync.WaitGroup
}

// channel turns one session's stream into lines for any number of clients. It
// lives from the first client to the last.
type channel struct {
	all     *channels
	session string
	hub     *wsline.Hub
	clients int // behind all.mu
	cancel  context.CancelFunc

	// mu is held while lines are made and while an input starts a turn: what
	// says that a turn has begun comes before anything of it.
	mu      sync.Mutex
	started bool
	lines   *agenthost.Lines
	last    string // stream id of the newest frame
}

// join finds or opens a session's channel and lets a client in.
func (a *channels) join(ctx context.Context, session string) (*channel, *wsline.Watcher, error) {
	for range 4 {
		c := a.enter(session)
		if c == nil {
			break
		}
		err := c.start(ctx)
		if err == nil {
			var w *wsline.Watcher
			if w, err = c.hub.Watch(false); err == nil {
				return c, w, nil
			}
		}
		c.leave()
		if protocol.CodeOf(err) != protocol.CodeGone {
			return nil, nil, err
		}
		// It was about to end: the next one tells whether the session is still there.
	}
	return nil, nil, &protocol.Error{Code: protocol.CodeUnavailable, Message: "The agent host is stopping", RetryAfter: 5}
}

func (a *channels) enter(session string) *channel {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return nil
	}
	c := a.open[session]
	if c == nil {
		c = &channel{all: a, session: session, hub: wsline.NewHub(a.limits, nowhere), lines: a.host.Lines(session)}
		a.open[session] = c
	}
	c.clients++
	a.clients.Add(1)
	return c
}

func (c *channel) leave() {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.all.clients.Done()
	if c.clients--; c.clients > 0 {
		return
	}
	c.all.forget(c)
	if c.cancel != nil {
		c.cancel()
	}
}

// forget is called under mu.
func (a *channels) forget(c *channel) {
	if a.open[c.session] == c {
		delete(a.open, c.session)
	}
}

// start subscribes, so that the first client finds the open turn.
func (c *channel) start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started {
		return nil
	}
	stream, err := c.all.host.Attach(ctx, c.session, "", true)
	if err != nil {
		return err
	}
	c.started = true
	alive, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.all.mu.Lock()
	c.cancel = cancel
	c.all.mu.Unlock()
	c.say(alive, stream.Backlog)
	go c.pump(alive, stream)
	return nil
}

// pump makes lines of frames until the last client has left or the session's
// streams are cut.
func (c *channel) pump(ctx context.Context, stream *agenthost.Stream) {
	defer func() { stream.Close() }()
	for {
		batch, err := stream.Live.NextBatch(ctx, nil)
		switch {
		case err == nil:
			c.mu.Lock()
			c.say(ctx, batch)
			c.mu.Unlock()
			continue
		case errors.Is(err, sse.ErrSlow): // this goroutine was: catch up
			stream.Close()
			if stream, err = c.resume(ctx); err == nil {
				continue
			}
			c.end(websocket.StatusTryAgainLater, "lines were lost: connect again")
		case errors.Is(err, io.EOF):
			c.end(c.all.why(c.session))
		}
		return
	}
}

var errGap = errors.New("the frames in between are gone")

func (c *channel) resume(ctx context.Context) (*agenthost.Stream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stream, err := c.all.host.Attach(ctx, c.session, c.last, true)
	if err != nil {
		return &agenthost.Stream{}, err
	}
	if !resumes(stream.Backlog) {
		stream.Close()
		return &agenthost.Stream{}, errGap
	}
	c.say(ctx, stream.Backlog)
	return stream, nil
}

// say hands frames to the clients as lines. c.mu is held, or nobody else knows c.
func (c *channel) say(ctx context.Context, frames [][]byte) {
	for _, frame := range frames {
		if id := frameID(frame); id != "" {
			c.last = id
		}
		c.publish(c.lines.Translate(ctx, frame))
	}
}

func (c *channel) publish(lines []protocol.Line) {
	for _, line := range lines {
		switch {
		case line.Type == protocol.LineAnswer, line.Type == protocol.LineConfirmation:
			c.hub.Withdrawn(line.RequestID)
		case line.SessionID == "":
			c.hub.Notice(line)
		default:
			c.hub.Publish(line)
		}
		if line.State == protocol.StateWaitingForInput {
			c.hub.Forget()
		}
	}
	c.hub.Trim()
}

// input starts a turn and says so before anything else of it is said.
func (c *channel) input(ctx context.Context, grant agenthost.Grant, req *protocol.PromptRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.all.host.Input(ctx, grant, req); err != nil {
		return err
	}
	c.publish(c.lines.Begin())
	return nil
}

func (c *channel) end(code websocket.StatusCode, reason string) {
	c.all.mu.Lock()
	c.all.forget(c)
	c.all.mu.Unlock()
	c.hub.End(code, reason)
}

// why is what clients are told when a session's streams have ended.
func (a *channels) why(session string) (websocket.StatusCode, string) {
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

// stop lets no more clients in and tells those that are there; the end of the
// host's streams sends them away.
func (a *channels) stop() {
	a.mu.Lock()
	a.stopped = true
	open := make([]*channel, 0, len(a.open))
	for _, c := range a.open {
		open = append(open, c)
	}
	a.mu.Unlock()
	for _, c := range open {
		c.hub.Notice(protocol.Line{Type: protocol.LineStatus, Level: "warning", Message: "The agent host is stopping"})
	}
}

func (a *channels) count(session string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.open[session]; c != nil {
		return c.clients
	}
	return 0
}
