package feed

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// pageLimit is how many changes one read fetches: messages may have megabytes of
// artifacts.
const pageLimit = 32

type revData struct {
	Rev int64 `json:"rev"`
}

// ServeTask serves a task's feed until the reader goes. It resumes after the
// Last-Event-ID header or else the since parameter; an id that is none, or not
// of this task's changes, is answered by a reset frame, never by an error. The
// error it returns comes before the first byte (CodeNotFound, for one).
//
// allowed is asked again and again whether the reader may still read; it must
// be safe to call from another goroutine.
func (f *Feed) ServeTask(w http.ResponseWriter, r *http.Request, userID, taskID string, allowed func(context.Context) bool) error {
	task, err := f.source.Get(r.Context(), userID, taskID)
	if err != nil {
		return err
	}
	reader := &taskReader{feed: f, userID: userID, taskID: taskID}
	reader.start(r, task.Rev)
	var stop func()
	reader.watcher, stop = f.tasks.watch(taskID)
	defer stop()
	return f.serve(w, r, allowed, reader.pump)
}

// taskReader reads the changes of a task after its own last rev.
type taskReader struct {
	feed           *Feed
	userID, taskID string
	watcher        *watcher
	now            int64 // the task's rev when the connection came
	last           int64 // the rev that the reader has, or noRev
}

// noRev stands for an id that is none. It goes back to the reader with the hello
// frame, so that one who is cut before the reset still gets it.
const noRev = -1

func (t *taskReader) start(r *http.Request, now int64) {
	t.now, t.last = now, now
	since := r.Header.Get("Last-Event-ID")
	if since == "" {
		since = r.URL.Query().Get("since")
	}
	if since == "" {
		return
	}
	rev, err := strconv.ParseInt(since, 10, 64)
	if err != nil || rev < 0 {
		rev = noRev
	}
	t.last = rev
}

// pump returns the rev the reader has been brought to.
func (t *taskReader) pump(ctx context.Context, c *conn) int64 {
	ping := time.NewTicker(t.feed.opts.Ping)
	defer ping.Stop()
	// hello carries the id the reader came with: were it the newest, a reader cut
	// right behind it would resume past what it has not got.
	if c.send(ctx, t.last, frameHello, revData{t.now}) != nil {
		return t.last
	}
	retry := newRetry()
	defer retry.stop()
	for {
		err := t.catchUp(ctx, c)
		switch {
		case ctx.Err() != nil:
			return t.last
		case protocol.CodeOf(err) == protocol.CodeNotFound: // deleted meanwhile
			return t.last
		case err != nil:
			retry.after(ctx, t.feed.opts.Log, err)
		default:
			retry.reset()
		}
		if !waitWoken(ctx, c, t.watcher, ping.C, retry.c()) {
			return t.last
		}
	}
}

// catchUp sends everything after last.
func (t *taskReader) catchUp(ctx context.Context, c *conn) error {
	if t.last == noRev {
		return t.sendReset(ctx, c)
	}
	for !t.feed.stopped() {
		changes, rev, err := t.feed.source.Changes(ctx, t.userID, t.taskID, t.last, pageLimit)
		if errors.Is(err, broker.ErrReset) {
			return t.sendReset(ctx, c)
		}
		if err != nil {
			return err
		}
		for i := range changes {
			if err := t.sendChange(ctx, c, &changes[i]); err != nil {
				return err
			}
		}
		if len(changes) == 0 || t.last >= rev {
			return nil
		}
	}
	return nil
}

// sendReset tells the reader to read the task and its messages anew: from the
// rev it names, the feed goes on.
func (t *taskReader) sendReset(ctx context.Context, c *conn) error {
	task, err := t.feed.source.Get(ctx, t.userID, t.taskID)
	if err != nil {
		return err
	}
	if err := c.send(ctx, task.Rev, frameReset, revData{task.Rev}); err != nil {
		return err
	}
	t.last = task.Rev
	return nil
}

func (t *taskReader) sendChange(ctx context.Context, c *conn, change *broker.Change) error {
	var row any
	switch {
	case change.Message != nil:
		row = change.Message
	case change.Task != nil:
		row = change.Task
	case change.Interaction != nil:
		row = change.Interaction
	}
	if row != nil { // a row may be gone by now
		if err := c.send(ctx, change.Rev, string(change.Kind), row); err != nil {
			return err
		}
	}
	t.last = change.Rev
	return nil
}
