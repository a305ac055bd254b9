package agenthost

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"bellhop/protocol"
)

// heed does what a broker's answer asks for: the table "Outbox, per answer" of
// protocol section 2. It returns how long to wait before the next request.
func (s *session) heed(ctx context.Context, p *parcel, a *answer) time.Duration {
	switch {
	case a.err != nil:
		if ctx.Err() != nil {
			return 0
		}
		return s.failed("the broker cannot be reached", a.err, 0)
	case a.status/100 == 2:
		return s.delivered(p, a)
	case a.status == http.StatusUnauthorized && a.code == protocol.CodeTokenExpired:
		return s.expired(ctx, p)
	case a.status == http.StatusRequestEntityTooLarge && len(p.events) > 1:
		return s.refused(p, a, len(p.events)/2)
	case p.named && a.foreign():
		return s.doubtful(fmt.Sprintf("%d without a broker's error code", a.status), a.retryAfter)
	case a.status == http.StatusGone:
		return s.halted(p, "the broker has deleted the task")
	case a.status == http.StatusRequestEntityTooLarge:
		return s.refused(p, a, 0)
	case a.status == http.StatusConflict:
		return s.conflicted(ctx, p, a)
	case a.status == http.StatusBadRequest && !aboutRequest(a.message):
		return s.refused(p, a, a.at())
	default:
		return s.failed(fmt.Sprintf("the broker answered %d %s", a.status, a.code), nil, a.retryAfter)
	}
}

// aboutRequest tells a 400 that is about the token or the address, and so about no
// event: dropping events would not mend it.
func aboutRequest(message string) bool {
	return slices.Contains([]string{
		"Missing token", "Invalid token format", "Invalid token payload", "Session ID mismatch",
	}, message)
}

// expired renews the token. A broker that does not take the one it gave gets time.
func (s *session) expired(ctx context.Context, p *parcel) time.Duration {
	s.mu.Lock()
	again := s.outbox.renewed && p.version == s.outbox.version
	s.outbox.renewed = !again
	s.mu.Unlock()
	if again {
		return s.failed("the broker does not take the token it renewed", nil, 0)
	}
	return s.renew(ctx)
}

// delivered handles a 2xx answer. A broker that named itself acknowledges with
// its cursor; an answer without one comes from something in between, such as a
// gateway, and acknowledges nothing. Other brokers acknowledge by the status
// alone, as the original contract has it.
func (s *session) delivered(p *parcel, a *answer) time.Duration {
	last := p.last()
	switch {
	case p.basic:
		return s.acknowledge(p, last)
	case !a.understood:
		return s.doubtful("a success that is not a JSON object", 0)
	case a.cursor == nil && p.named:
		return s.doubtful("a success without the broker's cursor", 0)
	case a.cursor == nil:
		return s.acknowledge(p, last)
	case a.cursor.Less(p.first()):
		return s.doubtful("a success, but its cursor lies before the events that were sent", 0)
	default:
		return s.acknowledge(p, *a.cursor)
	}
}

// maxDoubtWait bounds the pause after a doubtful answer: the events may be lost
// on the way, and only the next request can find out.
const maxDoubtWait = 5 * time.Second

// doubtful handles an answer that is not the broker's own. Nothing is
// acknowledged, and the same events are sent again within maxDoubtWait, or when
// the answer asks for it.
func (s *session) doubtful(answer string, retryAfter time.Duration) time.Duration {
	wait := s.failed("something other than the broker answered: "+answer, nil, 0)
	return max(min(wait, maxDoubtWait), min(retryAfter, maxBackoff))
}

func (s *session) conflicted(ctx context.Context, p *parcel, a *answer) time.Duration {
	switch a.code {
	case protocol.CodeGap:
		return s.gapped(ctx, p, a)
	case protocol.CodeDiverged:
		if a.at() > 0 && a.at() < len(p.events) {
			return s.fewer(p, a.at())
		}
		return s.diverged(ctx, p)
	case protocol.CodeFenced:
		return s.fenced(p)
	case protocol.CodeConflict:
		return s.refused(p, a, a.at())
	default:
		return s.failed("the broker answered 409 "+string(a.code), nil, a.retryAfter)
	}
}

// fewer lets the next request have at most n events.
func (s *session) fewer(p *parcel, n int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.version == s.outbox.version {
		s.outbox.limit = max(1, n)
	}
	return 0
}

// gapped rewinds to the broker's cursor. It never moves forward: a gap
// acknowledges nothing.
func (s *session) gapped(ctx context.Context, p *parcel, a *answer) time.Duration {
	if a.cursor == nil || a.cursor.Epoch > p.first().Epoch {
		return s.failed("the broker reports a gap without its place", nil, 0)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.version != s.outbox.version {
		return 0
	}
	if !a.cursor.Less(s.rec.Acked) {
		return s.failedLocked("the broker reports a gap where there is none", nil, 0)
	}
	s.rec.Acked, s.outbox.unsaved = *a.cursor, true
	if n, err := s.host.opts.Journal.CountPending(ctx, s.id, s.rec.Acked); err == nil {
		s.pending = n
	}
	return 0
}

// fenced: the broker has gone on to a higher epoch. Events of an epoch that is over
// here too are dropped (the broker keeps them as late); events of the current one
// mean that another host has taken over.
func (s *session) fenced(p *parcel) time.Duration {
	s.mu.Lock()
	current := s.rec.Cursor.Epoch
	s.mu.Unlock()
	if p.first().Epoch >= current {
		return s.halted(p, "the broker follows a newer copy of this session")
	}
	if len(p.events) > 1 {
		return s.fewer(p, 1) // each is to be kept as late
	}
	return s.acknowledge(p, p.last())
}

// halted stops the session's outbox and its turn; the journal stays. The next
// /session starts it again.
func (s *session) halted(p *parcel, why string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p != nil && p.version != s.outbox.version {
		return 0
	}
	b := s.begin()
	rec := b.record()
	rec.Outbox, rec.OutboxError = OutboxStopped, why
	if err := b.commit(); err != nil {
		return s.failedLocked(why, err, maxBackoff)
	}
	s.host.opts.Log.Warn("a session's delivery has stopped", "session", s.id, "why", why)
	s.stopRenewal()
	if t := s.turn; t != nil && t.stop == "" {
		t.beginStop(protocol.ReasonAborted)
	}
	return 0
}
