package feed

import (
	"context"
	"net/http"
	"slices"
	"time"

	"bellhop/protocol"
)

const (
	hintLimit = 200
	// hintGap is the shortest time between two reads of a user's hints: under
	// load, several changes of a task become one hint.
	hintGap = 100 * time.Millisecond
)

// Hints is the data of the hello frame of a user's feed. The task that changed last
// comes first.
type Hints struct {
	Tasks         []protocol.TaskHint  `json:"tasks"`
	AgentSessions []protocol.AgentHint `json:"agentSessions,omitempty"`
}

// ServeUser serves the feed of all of a user's tasks and agent sessions until the
// reader disconnects: a hello frame with the newest hints, then a task frame per
// changed task, an agent frame per changed agent session and an announcements frame
// after changes of announcements. Its ids count frames;
// a reader cannot resume with them. allowed is as in ServeTask.
func (f *Feed) ServeUser(
	w http.ResponseWriter, r *http.Request, userID string, allowed func(context.Context) bool,
) error {
	reader := &userReader{feed: f, userID: userID, announced: f.announced.Load()}
	var stop func()
	reader.watcher, stop = f.users.watch(userID)
	defer stop()
	hints, err := reader.read(r.Context())
	if err != nil {
		return err
	}
	if hints.Tasks == nil {
		hints.Tasks = []protocol.TaskHint{}
	}
	reader.hello = hints
	return f.serve(w, r, allowed, reader.pump)
}

// userReader sends the hints that differ from the last ones it sent.
type userReader struct {
	feed    *Feed
	userID  string
	watcher *watcher
	hello   *Hints
	count   int64 // frames sent

	sentTasks  map[string]protocol.TaskHint  // by task
	sentAgents map[string]protocol.AgentHint // by agent session

	announced int64 // the number of changes of announcements that the reader was notified of
}

func (u *userReader) read(ctx context.Context) (*Hints, error) {
	hints := &Hints{}
	var err error
	if hints.Tasks, err = u.feed.source.Hints(ctx, u.userID, hintLimit); err != nil {
		return nil, err
	}
	if u.feed.opts.Agents != nil {
		hints.AgentSessions, err = u.feed.opts.Agents.Hints(ctx, u.userID)
	}
	return hints, err
}

func (u *userReader) pump(ctx context.Context, c *conn) int64 {
	ping := time.NewTicker(u.feed.opts.Ping)
	defer ping.Stop()
	if u.send(ctx, c, frameHello, u.hello) != nil {
		return u.count
	}
	u.remember(u.hello)
	u.hello = nil
	retry := newRetry()
	defer retry.stop()
	for waitWoken(ctx, c, u.watcher, ping.C, retry.c()) {
		err := u.catchUp(ctx, c)
		switch {
		case ctx.Err() != nil:
			return u.count
		case err != nil:
			retry.after(ctx, u.feed.opts.Log, err)
		default:
			retry.reset()
			if !pause(ctx, u.feed.stop, hintGap) {
				return u.count
			}
		}
	}
	return u.count
}

func (u *userReader) catchUp(ctx context.Context, c *conn) error {
	if changes := u.feed.announced.Load(); changes != u.announced {
		if err := u.send(ctx, c, frameAnnouncements, struct{}{}); err != nil {
			return err
		}
		u.announced = changes
	}
	hints, err := u.read(ctx)
	if err != nil {
		return err
	}
	for _, hint := range slices.Backward(hints.Tasks) {
		if u.sentTasks[hint.TaskID] == hint {
			continue
		}
		if err := u.send(ctx, c, frameTask, hint); err != nil {
			return err
		}
	}
	for _, hint := range slices.Backward(hints.AgentSessions) {
		if u.sentAgents[hint.AgentSessionID] == hint {
			continue
		}
		if err := u.send(ctx, c, frameAgent, hint); err != nil {
			return err
		}
	}
	u.remember(hints)
	return nil
}

// remember keeps the newest hints only: a task that appears among them again has
// changed.
func (u *userReader) remember(hints *Hints) {
	u.sentTasks = make(map[string]protocol.TaskHint, len(hints.Tasks))
	for _, hint := range hints.Tasks {
		u.sentTasks[hint.TaskID] = hint
	}
	u.sentAgents = make(map[string]protocol.AgentHint, len(hints.AgentSessions))
	for _, hint := range hints.AgentSessions {
		u.sentAgents[hint.AgentSessionID] = hint
	}
}

func (u *userReader) send(ctx context.Context, c *conn, name string, data any) error {
	u.count++
	return c.send(ctx, u.count, name, data)
}
