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

// ServeTask serves a task's feed until the reader disconnects. It resumes after the
// Last-Event-ID header or else the since parameter. For an invalid id, and for one
// that is not among this task's changes, it sends a reset frame. It returns an error,
// such as CodeNotFound, only before the first byte.
//
// It calls allowed, from another goroutine, every few seconds to check that the reader
// may still read.
func (f *Feed) ServeTask(
	w http.ResponseWriter, r *http.Request, userID, taskID string, allowed func(context.Context) bool,
) error {
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
	atConnect      int64 // the task's rev when the reader connected
	last           int64 // the rev that the reader has, or noRev
}

// noRev stands for an invalid id. The hello frame returns it to the reader, so that
// a reader which is disconnected before the reset frame resumes with this id and
// gets a reset then.
const noRev = -1

func (t *taskReader) start(r *http.Request, rev int64) {
	t.atConnect, t.last = rev, rev
	since := r.Header.Get("Last-Event-ID")
	if since == "" {
		since = r.URL.Query().Get("since")
	}
	if since == "" {
		return
	}
	last, err := strconv.ParseInt(since, 10, 64)
	if err != nil || last < 0 {
		last = noRev
	}
	t.last = last
}

// pump sends changes until the reader disconnects or the task is deleted. It returns the rev of the
// last frame that it sent.
func (t *taskReader) pump(ctx context.Context, c *conn) int64 {
	ping := time.NewTicker(t.feed.opts.Ping)
	defer ping.Stop()
	// hello repeats the id that the reader sent. With the newest id, a reader that
	// is disconnected after hello would resume beyond frames that it never
	// received.
	if c.send(ctx, t.last, frameHello, revData{t.atConnect}) != nil {
		return t.last
	}
	retry := newRetry()
	defer retry.stop()
	for {
		err := t.catchUp(ctx, c)
		switch {
		case ctx.Err() != nil:
			return t.last
		case protocol.CodeOf(err) == protocol.CodeNotFound: // deleted in the meantime
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

// sendReset makes the reader load the task and its messages again. The feed
// continues from the rev in the frame.
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
	if row != nil { // the row may have been removed
		if err := c.send(ctx, change.Rev, string(change.Kind), row); err != nil {
			return err
		}
	}
	t.last = change.Rev
	return nil
}
