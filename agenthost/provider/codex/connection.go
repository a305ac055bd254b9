package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
)

var errEnded = errors.New("the agent ended")

// connection implements stdio.Connection: JSON-RPC with one app server.
type connection struct {
	program *program
	child   *stdio.Child

	mu      sync.Mutex
	last    int64
	waiting map[string]chan message // waiting calls by the id of their request

	// State of the open thread. Only the goroutine of Run uses it.
	thread     string
	total      tokens // the thread's usage at the end of the last turn
	knowsTotal bool
}

// Decode returns a request, a notification, or a response that no call waits for.
func (c *connection) Decode(raw []byte) (m message, err error) {
	if err := json.Unmarshal(raw, &m); err != nil || m.Method == "" && len(m.ID) == 0 {
		return m, errors.New("a line that is no message: " + stdio.Excerpt(raw))
	}
	if m.Method != "" {
		return m, nil
	}
	c.mu.Lock()
	response := c.waiting[string(m.ID)]
	delete(c.waiting, string(m.ID))
	c.mu.Unlock()
	if response == nil {
		return m, nil
	}
	response <- m
	return m, stdio.ErrConsumed
}

// Reject cancels a request, because no user can decide it between turns.
func (c *connection) Reject(m message) {
	if m.isRequest() {
		c.child.Offer(cancellation(&m))
	}
}

// Begin implements stdio.Connection.
func (c *connection) Begin(t *stdio.Turn) stdio.Exchange[message] {
	return &turn{Turn: t, connection: c, blocks: blocks{out: t.Out}, elicitedCalls: map[*stdio.Call]bool{}}
}

// request creates a request with a new id.
func (c *connection) request(method string, params any) message {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	return message{ID: json.RawMessage(strconv.FormatInt(c.last, 10)), Method: method, Params: stdio.Encode(params)}
}

// call sends a request and waits for its result. The error is a *refusal if the
// program responds with an error.
func (c *connection) call(ctx context.Context, method string, params, result any) error {
	request, response := c.request(method, params), make(chan message, 1)
	id := string(request.ID)
	c.mu.Lock()
	c.waiting[id] = response
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, id)
	}()
	err := c.child.Send(ctx, request)
	if err == nil {
		err = c.receive(ctx, response, result)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

func (c *connection) receive(ctx context.Context, response <-chan message, result any) error {
	select {
	case m := <-response:
		switch {
		case m.Error != nil:
			return m.Error
		case result == nil:
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-c.child.Ended():
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Open resumes the thread, or starts a new one if Codex refuses.
func (c *connection) Open(
	ctx context.Context, thread string, _ agenthost.Output,
) (id string, memoryLost bool, err error) {
	client := stdio.Object{"clientInfo": stdio.Object{"name": "bellhop", "title": "Bellhop", "version": "1"}}
	if err := c.call(ctx, "initialize", client, nil); err != nil {
		return "", false, err
	}
	if err := c.child.Send(ctx, message{Method: "initialized"}); err != nil {
		return "", false, err
	}
	if thread != "" {
		err := c.call(ctx, "thread/resume", c.settings(stdio.Object{"threadId": thread, "excludeTurns": true}), nil)
		if err == nil {
			c.thread = thread
			return thread, false, nil
		}
		if refused := (*refusal)(nil); !errors.As(err, &refused) {
			return "", false, err
		}
		c.child.Log.Warn("agent cannot resume its thread", "agent", c.program.options.Name, "err", err)
	}
	var started struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
	}
	if err := c.call(ctx, "thread/start", c.settings(stdio.Object{}), &started); err != nil {
		return "", false, err
	}
	c.thread, c.knowsTotal = started.Thread.ID, true
	return c.thread, thread != "", nil
}

// settings adds the settings of a thread to params. Codex must ask for everything
// that it does not know to be harmless, so that the host's policy decides.
func (c *connection) settings(params stdio.Object) stdio.Object {
	params["cwd"] = c.program.spec.Dir
	params["approvalPolicy"] = "untrusted"
	params["approvalsReviewer"] = "user"
	params["sandbox"] = c.program.options.Sandbox
	if c.program.spec.Model != "" {
		params["model"] = c.program.spec.Model
	}
	return params
}
