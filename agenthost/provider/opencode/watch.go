package opencode

import (
	"context"
	"maps"
	"sync"
	"time"

	"bellhop/protocol"
)

// repeatEvery is how often a status that lasts is reported again, because the host
// takes a program that is silent for long to be idle.
const repeatEvery = time.Minute

// watch follows what the sessions of a server do, and reports it while no turn of the
// host runs: a terminal client works then. It is safe for concurrent use.
type watch struct {
	report func(protocol.Status, protocol.StatusReason) // never called with the lock held
	now    func() time.Time

	mu       sync.Mutex
	inTurn   bool
	busy     map[string]bool   // by session
	requests map[string]string // open permissions and questions: the session of each
	reported activity
	at       time.Time // of the last report
}

type activity struct {
	status protocol.Status
	reason protocol.StatusReason
}

func newWatch(report func(protocol.Status, protocol.StatusReason), now func() time.Time) *watch {
	if report == nil {
		report = func(protocol.Status, protocol.StatusReason) {}
	}
	return &watch{
		report: report, now: now, busy: map[string]bool{}, requests: map[string]string{},
		reported: activity{status: protocol.StatusNone},
	}
}

// setInTurn stores whether a turn of the host runs.
func (w *watch) setInTurn(runs bool) { w.update(func() { w.inTurn = runs }) }

// isBusy reports whether a session works.
func (w *watch) isBusy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.busy) > 0
}

// forget removes all sessions and requests, whose state is not known any more.
func (w *watch) forget() {
	w.update(func() { w.busy, w.requests = map[string]bool{}, map[string]string{} })
}

// ended is forget, and reports that there is no program.
func (w *watch) ended() {
	w.forget()
	w.mu.Lock()
	known := w.reported.status != protocol.StatusNone
	w.reported = activity{status: protocol.StatusNone}
	w.mu.Unlock()
	if known {
		w.report(protocol.StatusNone, "")
	}
}

// handle applies an event of the server. Events that it does not know are ignored.
func (w *watch) handle(e event) {
	p, ok := decode[properties](e.Properties)
	if !ok {
		return
	}
	w.update(func() { w.apply(e, p) })
}

func (w *watch) apply(e event, p properties) {
	switch e.Type {
	case eventSessionStatus:
		if p.Status.Type == statusIdle {
			w.setIdle(p.SessionID)
		} else if p.SessionID != "" {
			w.busy[p.SessionID] = true
		}
	case eventSessionIdle:
		w.setIdle(p.SessionID)
	case eventPermissionAsked, eventQuestionAsked:
		if r, ok := decode[permission](e.Properties); ok && r.ID != "" {
			w.requests[r.ID] = r.SessionID
		}
	case eventPermissionReplied, eventQuestionReplied, eventQuestionRejected:
		delete(w.requests, p.RequestID)
	}
}

// setIdle removes a session from the busy ones. A request that it left open is stale.
func (w *watch) setIdle(session string) {
	delete(w.busy, session)
	maps.DeleteFunc(w.requests, func(_, of string) bool { return of == session })
}

// catchUp reads the state of the server after missed events. A request of a session that is
// not busy is stale. After an error nothing is known.
func (w *watch) catchUp(ctx context.Context, c *client) error {
	busy, requests := map[string]bool{}, map[string]string{}
	sessions, err := c.busy(ctx)
	if err != nil {
		w.forget()
		return err
	}
	for id := range sessions {
		busy[id] = true
	}
	permissions, questions, err := c.pending(ctx)
	for i := range permissions {
		requests[permissions[i].ID] = permissions[i].SessionID
	}
	for i := range questions {
		requests[questions[i].ID] = questions[i].SessionID
	}
	maps.DeleteFunc(requests, func(_, session string) bool { return !busy[session] })
	w.update(func() { w.busy, w.requests = busy, requests })
	return err
}

// update changes the state and reports what has changed with it.
func (w *watch) update(change func()) {
	w.mu.Lock()
	change()
	current := w.current()
	isIdle := current == activity{status: protocol.StatusIdle}
	unchanged := current == w.reported && (isIdle || w.now().Sub(w.at) < repeatEvery)
	if w.inTurn || unchanged {
		w.mu.Unlock()
		return
	}
	w.reported, w.at = current, w.now()
	w.mu.Unlock()
	w.report(current.status, current.reason)
}

func (w *watch) current() activity {
	switch {
	case len(w.requests) > 0:
		return activity{protocol.StatusIdle, protocol.ReasonWaiting}
	case len(w.busy) > 0:
		return activity{status: protocol.StatusBusy}
	}
	return activity{status: protocol.StatusIdle}
}
