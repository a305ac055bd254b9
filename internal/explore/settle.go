package explore

import (
	"cmp"
	"fmt"

	"bellhop/agenthost/core"
)

// Settle lets everything that is under way happen, without further faults, until nothing is
// left to do. It returns what does not hold on the way or at the end, "" if nothing.
func (w *World) Settle() string {
	at := w.clone()
	at.left = Limits{}
	for range 40 {
		before := at.fingerprint()
		at = at.clone()
		at.advance()
		if problem := at.Violation(); problem != "" {
			return "while it settles: " + problem
		}
		if at.fingerprint() == before {
			return at.quiet()
		}
	}
	return "9 nothing is under way: it never becomes quiet"
}

// advance does once whatever can be done without a fault.
func (w *World) advance() {
	for b := range w.broker {
		w.load(b)
		if w.broker[b].pull.stage == pullAsked {
			w.servePage(b)
		}
		if w.broker[b].pull.stage == pullRead {
			w.takePage(b)
		}
	}
	for len(w.posts) > 0 {
		abandoned := w.posts[0].abandoned || w.posts[0].kind == checkIn
		if !w.posts[0].committed {
			w.commit(0, 0, w.broker[0].incarnation)
		}
		if !abandoned {
			w.receive(0)
		}
	}
	for h := range w.hosts {
		w.round(0, h)
		if w.hosts[h].state.NextJob() != core.JobNone {
			w.send(h, 100)
		}
	}
}

// quiet: everything has arrived, and /status shows so. A host whose task has moved away
// shows that it has stopped, or that its epoch is refused.
func (w *World) quiet() string {
	for h := range w.hosts {
		st := &w.hosts[h].state
		if !st.Durable ||
			w.moved && st.Outbox() != core.OutboxOK && (st.Record.Outbox == core.OutboxStopped || h != w.db.host) {
			continue
		}
		if st.Record.Outbox != core.OutboxOK || st.Pending > 0 {
			return fmt.Sprintf("9 nothing is under way: host %d shows %s, %d events are not acknowledged", h,
				st.Record.Outbox, st.Pending)
		}
		for _, e := range w.hosts[h].journal.events {
			switch row := w.db.find(e.EventID); {
			case w.bothRestored():
			case row == nil:
				return fmt.Sprintf("9 no event is lost: the database never gets %s", short(e.EventID))
			case row.late && !w.moved:
				return fmt.Sprintf("9 no event is lost: %s, which its host has, never gets its effects", short(e.EventID))
			}
		}
	}
	return cmp.Or(w.positions(), w.lateRow())
}
