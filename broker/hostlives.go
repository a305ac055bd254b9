package broker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"bellhop/internal/generations"
	"bellhop/protocol"
)

// HostLives decides which life of an agent host the broker takes events from. Two copies of a host's data have the same
// sessions, passwords and positions, so events of both look right. The one that serves at the address where the broker
// reaches the session's host counts; the other one's events wait in its outbox.
//
//	life of a request ─┬─ accepted before ──────────────────────────► stored
//	                   └─ unknown ─► ask the session's host URL ─┬─ the same life ────► accepted, stored
//	                                                             ├─ another life ─────► two_copies, reported
//	                                                             ├─ of another host ──► stored: epochs decide (a moved task)
//	                                                             └─ no answer ────────► unavailable
type HostLives struct {
	Store   HostLifeStore
	Targets *Targets
	Link    LifeLink
	Now     func() time.Time
	Log     *slog.Logger

	mu    sync.Mutex
	known *generations.Cache[lifeOf, *hostLife]
}

// LifeLink asks hosts for their lives; broker/hosts implements it.
type LifeLink interface {
	// Life returns the life that serves at a target. The host names the request in its answer.
	Life(ctx context.Context, t Target) (protocol.Life, error)
}

// HostLifeStore stores which lives are accepted, for all replicas of the broker.
type HostLifeStore interface {
	// HostLife returns the accepted life of a host at a URL, "" if there is none.
	HostLife(ctx context.Context, url, host string) (string, error)
	AcceptHostLife(ctx context.Context, url string, life protocol.Life, at time.Time) error
	// NoteHostCopy stores that another copy of the host had its events refused.
	NoteHostCopy(ctx context.Context, url string, c HostCopy) error
	// AnyTask returns any user's task, deleted tasks included.
	AnyTask(ctx context.Context, id string) (*Task, error)
}

// HostCopy is a second copy of a host.
type HostCopy struct {
	URL   string // of the copy that is served
	Host  string
	Place string // where the other one runs, as it says
	At    time.Time
}

const (
	// lifeTTL is for how long a replica takes events of a life after another replica accepted the next one. The order of
	// events is safe without it: positions that both lives used diverge.
	lifeTTL      = 2 * time.Second
	lifeTimeout  = 3 * time.Second
	rememberHost = 10_000
	// copyShown is for how long a refused copy is reported. It tries again within 15 s.
	copyShown = 40 * time.Second
	// copyNoted is how often a refusal is stored, copyLogged how often it is logged.
	copyNoted  = 5 * time.Second
	copyLogged = time.Minute
)

// lifeOf is whose life is accepted. A user may give the URL of a host, which must not speak for the same host elsewhere.
type lifeOf struct{ url, host string }

// hostLife is what the broker knows of a host's lives.
type hostLife struct {
	asking chan struct{} // holds one token while the host is asked

	mu       sync.Mutex
	accepted string
	until    time.Time // accepted is read again then
	asked    int       // questions that were begun
	answer   lifeAnswer
	refused  string    // the life that was refused last
	noted    time.Time // its last refusal that was stored
	logged   time.Time // and that was logged
}

// lifeAnswer is the answer to the last question.
type lifeAnswer struct {
	number int // of the question; 0 = none was answered
	at     time.Time
	life   protocol.Life
	name   string // of the host, for people
	err    error
}

func (l *HostLives) of(key lifeOf) *hostLife {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = generations.New[lifeOf, *hostLife](rememberHost)
	}
	h, ok := l.known.Get(key)
	if !ok {
		h = &hostLife{asking: make(chan struct{}, 1)}
		l.known.Put(key, h)
	}
	return h
}

// begin reports whether a life is accepted, and how many questions were begun before.
func (h *hostLife) begin(id string, now time.Time) (accepted bool, asked int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.accepted == id && now.Before(h.until), h.asked
}

func (h *hostLife) accept(id string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.accepted, h.until = id, now.Add(lifeTTL)
}

// Check returns nil if events of a life may be stored in a task whose host is reached at a URL. CodeTwoCopies: another
// copy of the host serves there. CodeUnavailable: that is not known. It makes no query for the life that it accepted a
// moment ago.
func (l *HostLives) Check(ctx context.Context, taskID, url string, life protocol.Life) error {
	url = trimURL(cmp.Or(l.Targets.CustomAgentURL, url))
	if url == "" || life.IsZero() {
		return nil
	}
	h := l.of(lifeOf{url, life.Host})
	accepted, asked := h.begin(life.ID, l.Now())
	if accepted {
		return nil
	}
	select { // a host with many sessions asks one question
	case h.asking <- struct{}{}:
		defer func() { <-h.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if accepted, _ = h.begin(life.ID, l.Now()); accepted {
		return nil
	}
	stored, err := l.Store.HostLife(ctx, url, life.Host)
	switch {
	case err != nil:
		return err
	case stored == life.ID:
		h.accept(stored, l.Now())
		return nil
	}
	answer := h.answer
	// An answer decides only about requests that came before its question, so that no restart in between is missed.
	// While a life is refused again and again, an answer serves for a moment.
	isRecent := life.ID == h.refused && l.Now().Before(answer.at.Add(lifeTTL))
	if answer.number <= asked && !isRecent {
		answer = l.ask(ctx, h, taskID)
	}
	switch {
	case answer.err != nil:
		return &protocol.Error{
			Code: protocol.CodeUnavailable, Message: "The agent host could not be asked which copy of it serves", RetryAfter: 5,
			Hint: "Check that the broker reaches the task's agent host", Err: answer.err,
		}
	case answer.life.Host != life.Host:
		return nil
	}
	if answer.life.ID != stored {
		if err := l.Store.AcceptHostLife(ctx, url, answer.life, nowUTC(l.Now)); err != nil {
			return err
		}
	}
	h.accept(answer.life.ID, l.Now())
	if answer.life.ID == life.ID {
		return nil
	}
	h.refused = life.ID
	return l.refuse(ctx, h, url, life, answer)
}

// ask asks the host of a task for its life.
func (l *HostLives) ask(ctx context.Context, h *hostLife, taskID string) lifeAnswer {
	h.mu.Lock()
	h.asked++
	answer := lifeAnswer{number: h.asked}
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lifeTimeout)
	defer cancel()
	answer.life, answer.name, answer.err = l.askHost(ctx, taskID)
	answer.at = l.Now()
	h.answer = answer
	return answer
}

func (l *HostLives) askHost(ctx context.Context, taskID string) (life protocol.Life, name string, err error) {
	task, err := l.Store.AnyTask(ctx, taskID)
	if err != nil {
		return life, "", err
	}
	target, err := l.Targets.of(ctx, task)
	if err != nil {
		return life, "", err
	}
	name = target.URL
	if host, err := l.Targets.Store.Host(ctx, task.HostID); task.HostID != "" && err == nil {
		name = host.Name
	}
	life, err = l.Link.Life(ctx, target)
	return life, name, err
}

// refuse reports a second copy of a host. It needs the token of h.asking.
func (l *HostLives) refuse(ctx context.Context, h *hostLife, url string, life protocol.Life, answer lifeAnswer) error {
	now := nowUTC(l.Now)
	if !now.Before(h.noted.Add(copyNoted)) {
		if err := l.Store.NoteHostCopy(ctx, url, HostCopy{Host: life.Host, Place: life.Place, At: now}); err != nil {
			return err
		}
		h.noted = now
	}
	if !now.Before(h.logged.Add(copyLogged)) {
		h.logged = now
		//nolint:sloglint // logs, doctor and console have these words in common
		l.Log.WarnContext(ctx, "two copies of host "+answer.name, "served", url, "refused", life.Place)
	}
	return &protocol.Error{
		Code: protocol.CodeTwoCopies, Message: fmt.Sprintf("two copies of host %s: the broker serves the one at %s", answer.name, url),
		Hint: "End one of them; the events of this one wait in its outbox",
	}
}

// Seen accepts the life of an answer, which a URL's host gave by itself.
func (l *HostLives) Seen(ctx context.Context, url string, life protocol.Life) {
	url = trimURL(url)
	h := l.of(lifeOf{url, life.Host})
	if accepted, _ := h.begin(life.ID, l.Now()); accepted {
		return
	}
	stored, err := l.Store.HostLife(ctx, url, life.Host)
	if err == nil && stored != life.ID {
		err = l.Store.AcceptHostLife(ctx, url, life, nowUTC(l.Now))
	}
	if err != nil { // events of the life ask again
		l.Log.DebugContext(ctx, "a host's life was not stored", "error", err)
		return
	}
	h.accept(life.ID, l.Now())
}

// ShownCopies returns the copies that are reported now.
func ShownCopies(ctx context.Context, store HostStore, now time.Time) ([]HostCopy, error) {
	return store.HostCopies(ctx, now.UTC().Add(-copyShown))
}

// CopyOf returns the newest of copies that is one of the host, nil if there is none.
func CopyOf(h *Host, copies []HostCopy) *HostCopy {
	var found *HostCopy
	for i := range copies {
		if copies[i].URL == trimURL(h.URL) && (found == nil || found.At.Before(copies[i].At)) {
			found = &copies[i]
		}
	}
	return found
}
