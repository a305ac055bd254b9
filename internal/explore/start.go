package explore

import "bellhop/agenthost/core"

// Scenario is where a search begins.
type Scenario struct {
	Limits Limits
	Behind int  // events that the copies lack, to which restores return
	Saved  bool // the journal's copy has the last receipt; a host usually writes it with the next event
}

// Start returns a World whose task has an open turn on host 0. All events are in the
// database.
func Start(rules Rules, s Scenario) *World {
	w := &World{rules: &rules, incarnations: 1}
	w.db.incarnation = 1
	for b := range w.broker {
		w.broker[b] = broker{incarnation: 1, former: 1}
	}
	for h := range w.hosts {
		w.hosts[h].state = core.New(sessionID)
	}
	w.announce(0, 1)
	w.commit(0, 0, 1)
	w.deliver(0)
	if s.Saved {
		_ = w.input(0, core.PositionSaved{})
	}
	w.backup, w.hosts[0].backup = w.db, w.hosts[0].journal
	for range s.Behind {
		w.text(0)
		w.deliver(0)
	}
	w.left = s.Limits
	return w
}

// deliver makes the requests of a host's delivery, with their answers, until none is due.
func (w *World) deliver(h int) {
	for range 20 {
		if w.hosts[h].state.NextJob() == core.JobNone {
			return
		}
		if w.send(h, 1); len(w.posts) > 0 {
			w.commit(len(w.posts)-1, 0, w.broker[0].incarnation)
			w.receive(len(w.posts) - 1)
		}
	}
}
