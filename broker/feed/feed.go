package feed

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/r3labs/sse/v2"

	"bellhop/protocol"
)

// Options of a Feed. A zero value stands for the default stated here.
type Options struct {
	Ping   time.Duration // between ping comments: 10 s
	Poll   time.Duration // of other replicas' changes: 200 ms
	Access time.Duration // between checks of a reader's access: 3 s
	Write  time.Duration // limit of one write: 5 s
	Agents AgentSource   // nil = no notebooks
	Now    func() time.Time
	Log    *slog.Logger
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		value   *time.Duration
		initial time.Duration
	}{
		{&o.Ping, protocol.PingInterval},
		{&o.Poll, 200 * time.Millisecond},
		{&o.Access, 3 * time.Second},
		{&o.Write, 5 * time.Second},
	} {
		if *d.value <= 0 {
			*d.value = d.initial
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// Feed serves the feeds of one broker process. It is a broker.Notifier.
type Feed struct {
	source Source
	opts   Options

	tasks *topics
	users *topics

	announced atomic.Int64 // counts the changes of announcements

	server *sse.Server
	conns  sync.Map // r3labs stream name → *conn

	mu       sync.Mutex
	stopping bool
	stop     chan struct{} // closed when Run ends: connections send bye
	open     sync.WaitGroup
}

// New returns a Feed that reads from source. Without Run it notices only the changes
// of its own process and does not end its connections by itself.
func New(source Source, opts Options) *Feed {
	f := &Feed{
		source: source,
		opts:   opts.withDefaults(),
		tasks:  newTopics(),
		users:  newTopics(),
		stop:   make(chan struct{}),
	}
	f.server = sse.NewWithCallback(f.subscribed, f.unsubscribed)
	f.server.AutoStream = false
	f.server.AutoReplay = false
	f.server.SplitData = true
	f.server.BufferSize = 1
	return f
}

// Changed wakes the readers of a task and of its user. It is called after the
// commit and never blocks.
func (f *Feed) Changed(userID, taskID string, rev int64) {
	f.tasks.wake(taskID, rev)
	f.users.wake(userID, 0)
}

// AgentChanged wakes the readers of a user. It is called after the commit and never
// blocks.
func (f *Feed) AgentChanged(userID string) { f.users.wake(userID, 0) }

// Announced makes every reader of a user's feed read the announcements again. It never blocks.
func (f *Feed) Announced() {
	f.announced.Add(1)
	f.users.wakeAll()
}

// Run polls for changes made by other replicas until ctx ends. Then every
// connection sends bye and closes, and new ones are refused. It returns when all
// are closed, at the latest after the write limit.
func (f *Feed) Run(ctx context.Context) error {
	newPoller(f).run(ctx)

	f.mu.Lock()
	if !f.stopping {
		f.stopping = true
		close(f.stop)
	}
	f.mu.Unlock()
	f.open.Wait()
	return nil
}

// enter registers a connection, unless the feed is stopping.
func (f *Feed) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopping {
		return false
	}
	f.open.Add(1)
	return true
}

func (f *Feed) stopped() bool {
	select {
	case <-f.stop:
		return true
	default:
		return false
	}
}

// Connections returns the number of open connections.
func (f *Feed) Connections() int {
	n := 0
	f.conns.Range(func(any, any) bool { n++; return true })
	return n
}
