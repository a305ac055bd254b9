package feed

import "sync"

// topics are the tasks, or the users, that some connection watches.
type topics struct {
	mu   sync.Mutex
	byID map[string]*topic
}

type topic struct {
	polled   int64 // what the last poll said
	watchers map[*watcher]struct{}
}

// Not revs: nothing was polled yet; the poll did not know the id.
const (
	unseen  = -1
	missing = -2
)

// watcher is woken when its topic may have something new. Wake-ups that come
// while one is pending are one.
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

// wake wakes the topic's watchers. rev, where known, spares them the wake-up
// by the next poll.
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

// polled wakes the watchers of the asked topics whose rev is another one than
// before: lower too, since a broker may be restored from an older copy.
func (ts *topics) polled(asked []string, now map[string]int64) {
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
