package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"bellhop/internal/sse"
	"bellhop/protocol"
)

// Change is a frame of a task's feed: one of the three rows, or a Reset, after which the caller
// must read the task and its messages again.
type Change struct {
	Rev         int64
	Reset       bool
	Message     *protocol.Message
	Task        *protocol.Task
	Interaction *protocol.Interaction
}

// FollowTask yields a task's changes after the rev since, in order and each once. It reconnects
// until ctx ends, the task is deleted or the broker rejects the request. With since below 0 it
// yields only future changes.
func (c *Client) FollowTask(ctx context.Context, taskID string, since int64) iter.Seq2[Change, error] {
	path := "/api/tasks/" + url.PathEscape(taskID) + "/events"
	last := ""
	if since >= 0 {
		last = strconv.FormatInt(since, 10)
	}
	return func(yield func(Change, error) bool) {
		err := c.followFeed(ctx, path, last, func(frame sse.Frame) error {
			change, err := parseChange(frame)
			if err != nil || change == nil {
				return err
			}
			if !yield(*change, nil) {
				return sse.ErrStop
			}
			return nil
		})
		if err != nil {
			yield(Change{}, err)
		}
	}
}

// FollowTasks yields a hint for each of the user's newest tasks, then one per change, until ctx
// ends or the broker rejects the request. After a reconnect it yields the newest tasks again.
func (c *Client) FollowTasks(ctx context.Context) iter.Seq2[protocol.TaskHint, error] {
	return func(yield func(protocol.TaskHint, error) bool) {
		err := c.followFeed(ctx, "/api/events", "", func(frame sse.Frame) error {
			hints, err := parseHints(frame)
			if err != nil {
				return err
			}
			for _, hint := range hints {
				if !yield(hint, nil) {
					return sse.ErrStop
				}
			}
			return nil
		})
		if err != nil {
			yield(protocol.TaskHint{}, err)
		}
	}
}

func (c *Client) followFeed(ctx context.Context, path, last string, onFrame func(sse.Frame) error) error {
	u, err := c.endpoint(path, nil)
	if err != nil {
		return err
	}
	following, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	failed := 0
	err = sse.Follow(following, sse.FollowOptions{
		Client: c.feedClient(),
		LastID: last,
		Request: func(lastID string) (*http.Request, error) {
			req, err := c.request(following, http.MethodGet, u, nil)
			if err == nil && lastID != "" {
				req.Header.Set("Last-Event-ID", lastID)
			}
			return req, err
		},
		OnFrame: func(frame sse.Frame) error {
			failed = 0
			return onFrame(frame)
		},
		OnRetry: c.limitAttempts(&failed, stop),
		Idle:    c.opts.Idle, MinBackoff: c.opts.MinBackoff, MaxBackoff: c.opts.MaxBackoff,
	})
	if err == nil {
		return nil
	}
	return followError(ctx, u, err)
}

// feedClient adds the cookies: feeds are served by the broker.
func (c *Client) feedClient() *http.Client {
	client := *c.stream
	client.Jar = c.api.Jar
	return &client
}

func parseChange(frame sse.Frame) (*Change, error) {
	change := &Change{}
	var row any
	switch frame.Event {
	case "message":
		change.Message = &protocol.Message{}
		row = change.Message
	case "task":
		change.Task = &protocol.Task{}
		row = change.Task
	case "interaction":
		change.Interaction = &protocol.Interaction{}
		row = change.Interaction
	case "reset":
		change.Reset = true
		row = &struct{}{}
	default:
		return nil, nil //nolint:nilnil // hello, bye and what later brokers add are no changes
	}
	rev, err := strconv.ParseInt(frame.ID, 10, 64)
	if err == nil {
		err = json.Unmarshal(frame.Data, row)
	}
	if err != nil {
		return nil, fmt.Errorf("client: frame %s of the feed: %w", frame.Event, err)
	}
	change.Rev = rev
	return change, nil
}

func parseHints(frame sse.Frame) ([]protocol.TaskHint, error) {
	var hello struct {
		Tasks []protocol.TaskHint `json:"tasks"`
	}
	var err error
	switch frame.Event {
	case "hello":
		err = json.Unmarshal(frame.Data, &hello)
	case "task":
		hello.Tasks = make([]protocol.TaskHint, 1)
		err = json.Unmarshal(frame.Data, &hello.Tasks[0])
	}
	if err != nil {
		return nil, fmt.Errorf("client: frame %s of the feed: %w", frame.Event, err)
	}
	return hello.Tasks, nil
}
