package agenthost

import (
	"context"
	"time"

	"bellhop/internal/failpoint"
	"bellhop/protocol"
)

const (
	maxPostEvents = 100
	maxPostBytes  = 1<<20 - 4<<10 // of event bodies; the envelope fits into the rest
	firstBackoff  = 500 * time.Millisecond
	maxBackoff    = time.Minute
)

// outbox brings a session's events to its broker, in order. Its goroutine exists
// only while there is something to bring. All members are behind the session's
// lock, except nudges.
type outbox struct {
	active  bool
	nudges  chan struct{} // ends a backoff: there is a new address, or a renewal is due
	version int           // grows when the position is moved by another hand
	unsaved bool          // the position moved and no write has said so yet

	limit    int // events a request, after a refusal fewer
	failures int
	renewed  bool // since the last delivery

	renewal  *time.Timer
	renewDue bool
}

func newOutbox() outbox { return outbox{nudges: make(chan struct{}, 1), limit: maxPostEvents} }

func (o *outbox) nudge() {
	if !o.active {
		return // nobody waits; the next one to do so must not be spared
	}
	select {
	case o.nudges <- struct{}{}:
	default:
	}
}

// rewind makes the answer of a request under way be ignored.
func (o *outbox) rewind() { o.version++ }

// wakeOutbox starts the goroutine when there is work for it. The lock is held.
func (s *session) wakeOutbox() {
	if s.outbox.active || !s.hasPost() || !s.host.in(running, draining) {
		return
	}
	select {
	case <-s.outbox.nudges: // meant for the last one
	default:
	}
	s.outbox.active = s.host.spawn(s.post)
}

func (s *session) hasPost() bool {
	return !s.gone && s.rec.Outbox != OutboxStopped && s.rec.Outbox != OutboxNone && (s.pending > 0 || s.outbox.renewDue || s.outbox.unsaved && s.turn == nil)
}

// post runs until there is nothing left to bring, or the host stops posting.
func (s *session) post() {
	ctx := s.host.posting
	for ctx.Err() == nil {
		wait, more := s.postOnce(ctx)
		if !more {
			return
		}
		if wait <= 0 {
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-s.outbox.nudges:
		}
		timer.Stop()
	}
	s.mu.Lock()
	s.outbox.active = false
	s.mu.Unlock()
}

// parcel is one request's worth of events of one epoch.
type parcel struct {
	version int
	url     string
	basic   bool
	named   bool          // the broker told its id: its answers carry a cursor or an error code
	events  []EventRecord // basic: the one event that is posted is the last
	skip    bool          // basic: nothing here that such a broker takes
}

func (p *parcel) first() protocol.Cursor { return p.events[0].Cursor }
func (p *parcel) last() protocol.Cursor  { return p.events[len(p.events)-1].Cursor }

// postOnce does one thing and says how long to wait before the next; more is false
// when there is none, and the goroutine is over then.
func (s *session) postOnce(ctx context.Context) (wait time.Duration, more bool) {
	s.mu.Lock()
	if !s.hasPost() {
		s.outbox.active = false
		s.mu.Unlock()
		return 0, false
	}
	if s.outbox.renewDue {
		s.mu.Unlock()
		return s.renew(ctx), true
	}
	if s.pending <= 0 {
		wait = s.savePosition()
		s.mu.Unlock()
		return wait, true
	}
	version, limit, acked := s.outbox.version, s.outbox.limit, s.rec.Acked
	url, basic, named := s.rec.WebhookURL, s.rec.Basic, s.rec.BrokerID != ""
	s.mu.Unlock()

	events, err := s.host.opts.Journal.Pending(ctx, s.id, acked, limit)
	if err != nil {
		return s.failed("the journal cannot be read", err, 0), true
	}
	if len(events) == 0 {
		s.recount(ctx)
		return 0, true
	}
	p := pack(events)
	p.version, p.url, p.basic, p.named = version, url, basic, named
	if basic {
		p.forBasic()
	}
	if p.skip {
		return s.acknowledge(p, p.last()), true
	}
	failpoint.Hit("outbox-before-post")
	answer := s.send(ctx, p)
	failpoint.Hit("outbox-after-post")
	return s.heed(ctx, p, answer), true
}
