package feed

import "sync"

// topics holds the tasks, or the users, that some connection watches.
type topics struct {
	mu   sync.Mutex
	byID map[string]*topic
}

type topic struct {
	polled   int64 // rev of the last poll
	watchers map[*watcher]struct{}
}

// Values of polled that are not revs: not polled yet, and unknown to the store.
const (
	unseen  = -1
	missing = -2
)

// watcher is woken when its topic may have something new. Several wake-ups before it
// reads count as one.
type watcher struct {
	woken chan struct{}
}

func newTopics() *topics { return &topics{byID: map[string]*topic{}} }

func (ts *topics) watch(id string) (w *watcher, stop func()) {
	w = &watcher{woken: make(chan struct{}, 1)}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.byID[id]
	if t == nil {
		t = &topic{polled: unseen, watchers: map[*watcher]struct{}{}}
		ts.byID[id] = t
	}
	t.watchers[w] = struct{}{}
	return w, func() {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		delete(t.watchers, w)
		if len(t.watchers) == 0 && ts.byID[id] == t {
			delete(ts.byID, id)
		}
	}
}

// wake wakes the topic's watchers. With a rev, the next poll does not wake them again
// for the same change; 0 stands for an unknown rev.
func (ts *topics) wake(id string, rev int64) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.byID[id]
	if t == nil {
		return
	}
	t.polled = max(t.polled, rev)
	t.wake()
}

// wakeAll wakes the watchers of every topic.
func (ts *topics) wakeAll() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.byID {
		t.wake()
	}
}

// applyPoll wakes the watchers of the topics whose rev differs from that of the last
// poll. It may be lower too, after the broker was restored from an older copy.
func (ts *topics) applyPoll(asked []string, now map[string]int64) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, id := range asked {
		t := ts.byID[id]
		if t == nil {
			continue
		}
		rev, found := now[id]
		if !found {
			rev = missing
		}
		if rev != t.polled {
			t.polled = rev
			t.wake()
		}
	}
}

func (ts *topics) ids() []string {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ids := make([]string, 0, len(ts.byID))
	for id := range ts.byID {
		ids = append(ids, id)
	}
	return ids
}

func (t *topic) wake() {
	for w := range t.watchers {
		select {
		case w.woken <- struct{}{}:
		default:
		}
	}
}
