package explore

import (
	"fmt"
	"net/http"
	"slices"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// Action is something that can happen in a World.
type Action struct {
	do     func(*World)
	format string
	args   []any
}

// Name describes the action.
func (a *Action) Name() string { return fmt.Sprintf(a.format, a.args...) }

// Do returns the World after the action. The World before it stays as it is.
func (a *Action) Do(w *World) *World {
	next := w.clone()
	a.do(next)
	return next
}

// actions collects what a World allows.
type actions struct {
	w    *World
	list []Action
}

func (a *actions) add(do func(*World), format string, args ...any) {
	a.list = append(a.list, Action{do, format, args})
}

// Actions returns what can happen next.
func (w *World) Actions() []Action {
	a := &actions{w: w}
	for h := range w.hosts {
		if w.hosts[h].state.Durable {
			a.ofHost(h)
		}
	}
	for i := range w.posts {
		a.ofRequest(i)
	}
	for b := range w.broker {
		if b == 0 || w.broker[b].differs(&w.broker[0]) {
			a.ofBroker(b)
		}
	}
	a.ofWorld()
	return a.list
}

// differs reports whether a broker can do anything that the other cannot.
func (b *broker) differs(other *broker) bool {
	return b.incarnation != other.incarnation || b.former != other.former || b.pull.stage != other.pull.stage ||
		b.pull.stage != pullNone
}

// ofHost adds the actions of one host.
func (a *actions) ofHost(h int) {
	w, at := a.w, &a.w.hosts[h]
	if w.left.Events > 0 && at.state.OpenTurn() != "" {
		a.add(func(w *World) { w.left.Events--; w.text(h) }, "host %d: the agent writes a text", h)
	}
	if job := at.state.NextJob(); job != core.JobNone && !w.waits(h) {
		a.add(func(w *World) { w.send(h, protocol.MaxWebhookEvents) }, "host %d: delivery makes its next request", h)
		if job == core.JobSend && at.state.Pending > 1 {
			a.add(func(w *World) { w.send(h, 1) }, "host %d: delivery sends one event", h)
		}
	}
	if w.left.Restarts > 0 {
		a.add(func(w *World) { w.left.Restarts--; w.restart(h) }, "host %d is killed and starts again", h)
	}
	if w.left.Journals > 0 && at.backup.session.ID != "" {
		a.add(func(w *World) { w.left.Journals--; w.restoreJournal(h) }, "host %d starts with an older journal", h)
	}
}

// restoreJournal replaces a host's journal by its copy. Events that were only there are
// lost, which the restore excuses.
func (w *World) restoreJournal(h int) {
	at := &w.hosts[h]
	for _, e := range at.journal.events {
		if at.backup.find(e.EventID) == nil {
			w.excused = append(slices.Clone(w.excused), e.EventID)
		}
	}
	at.journal, at.latest = at.backup, turnRev{}
	w.restored[0] = true
	w.restart(h)
}

// ofRequest adds what can happen to a request under way: the broker commits it, the host
// gets the answer, or the network fails.
func (a *actions) ofRequest(i int) {
	w := a.w
	r := &w.posts[i]
	what := r // its String names the request in a trace
	if r.committed {
		a.add(func(w *World) { w.receive(i) }, "%s: the host gets the answer", what)
	} else {
		a.commits(i, what)
	}
	if w.left.Faults == 0 || r.abandoned {
		return
	}
	if r.committed {
		a.fault(func(w *World) { w.timeOut(i, true) }, "%s: the answer is lost", what)
		return
	}
	a.fault(func(w *World) { w.timeOut(i, true) }, "%s is lost", what)
	if r.kind == checkIn {
		return
	}
	a.fault(func(w *World) { w.timeOut(i, false) }, "%s is delayed, and the host does not wait", what)
	a.fault(func(w *World) { w.lie(i, http.StatusOK) }, "%s: a gateway answers 200", what)
	if r.kind == post {
		a.fault(func(w *World) { w.lie(i, http.StatusGone) }, "%s: a gateway answers 410", what)
		a.fault(func(w *World) {
			twin := w.posts[i]
			twin.abandoned = true
			w.posts = append(w.posts, twin)
		}, "%s is repeated", what)
	}
}

func (a *actions) fault(do func(*World), format string, args ...any) {
	a.add(func(w *World) { w.left.Faults--; do(w) }, format, args...)
}

// commits adds the ways in which a broker can commit a request. The incarnation that it
// names may be older than the data that it reads.
func (a *actions) commits(i int, what *request) {
	if a.w.posts[i].kind == checkIn {
		a.add(func(w *World) { w.commit(i, 0, 0) }, "%s: the host opens the session", what)
		return
	}
	for b := range a.w.broker {
		at := &a.w.broker[b]
		if b > 0 && !at.differs(&a.w.broker[0]) {
			continue
		}
		a.add(func(w *World) { w.commit(i, b, at.incarnation) }, "%s: broker %d commits", what, b)
		if at.former != at.incarnation && !a.w.rules.LateLabel {
			a.add(func(w *World) { w.commit(i, b, at.former) }, "%s: broker %d commits, and names the former incarnation",
				what, b)
		}
	}
}

func (a *actions) ofBroker(b int) {
	w, at := a.w, &a.w.broker[b]
	switch {
	case at.pull.stage == pullAsked:
		a.add(func(w *World) { w.servePage(b) }, "broker %d pulls: host %d answers", b, at.pull.host)
	case at.pull.stage == pullRead:
		a.add(func(w *World) { w.takePage(b) }, "broker %d pulls: it ingests the events", b)
	case w.left.Pulls > 0:
		a.add(func(w *World) { w.left.Pulls--; w.askEvents(b, w.db.cursor) }, "broker %d pulls: it reads the cursor %v",
			b, w.db.cursor)
	}
	if at.pull.stage != pullNone && w.left.Faults > 0 {
		a.fault(func(w *World) { w.broker[b].pull = pull{} }, "broker %d is killed", b)
	}
	if w.left.CheckIns > 0 {
		a.add(func(w *World) { w.left.CheckIns--; w.announce(b, at.incarnation) },
			"broker %d: a check-in, with the cursor %v", b, w.db.cursor)
		if at.former != at.incarnation && !w.rules.LateLabel {
			a.add(func(w *World) { w.left.CheckIns--; w.announce(b, at.former) },
				"broker %d: a check-in, with the cursor %v and the former incarnation", b, w.db.cursor)
		}
	}
	if w.db.copied || at.incarnation != w.db.incarnation {
		a.add(func(w *World) { w.load(b) }, "broker %d reads the incarnation", b)
	}
	for h := range w.hosts {
		if st := &w.hosts[h].state; st.Bound() && (w.restored[1] || st.MustCompare(name(at.incarnation), false)) {
			a.add(func(w *World) { w.round(b, h) }, "broker %d has host %d compare", b, h)
		}
	}
}

func (a *actions) ofWorld() {
	w := a.w
	if w.left.Database > 0 {
		a.add(func(w *World) { w.left.Database--; w.restoreDatabase() }, "the database is restored to %v", w.backup.cursor)
	}
	if w.left.Moves > 0 {
		a.add(func(w *World) {
			w.left.Moves--
			w.moved = true
			w.db.host = 1 - w.db.host
		}, "the task moves to host %d", 1-w.db.host)
	}
	if w.left.Forged > 0 {
		a.add(func(w *World) { w.left.Forged--; w.forge(protocol.Cursor{Epoch: w.db.cursor.Epoch + 8, Seq: 1}) },
			"a program forges an event of a high epoch")
		next := protocol.Cursor{Epoch: w.db.cursor.Epoch, Seq: w.db.cursor.Seq + 1}
		a.add(func(w *World) { w.left.Forged--; w.forge(next) }, "a program forges the event %v", next)
	}
}

// restoreDatabase returns to the backup. An event that is neither there nor in its host's
// journal is lost, which the restore excuses.
func (w *World) restoreDatabase() {
	for _, row := range w.db.rows {
		if w.backup.find(row.id) == nil && row.host != forger && w.hosts[row.host].journal.find(row.id) == nil {
			w.excused = append(slices.Clone(w.excused), row.id)
		}
	}
	w.db = w.backup
	w.db.copied = true
	w.restored[1] = true
}
