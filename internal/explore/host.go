package explore

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// now is the time of every input: no decision about delivery depends on it here.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	sessionID = "s1"
	brokerID  = "b1"
	hook      = "http://broker/hook?token=t"
)

// input applies an input to a host as its session does: decide, commit, replace the
// state, act.
func (w *World) input(h int, in core.Input) error {
	at := &w.hosts[h]
	step, err := at.state.Apply(core.Moment{Time: now, ID: fmt.Sprintf("%08x-0000-7000-8000-%08x0000", h, at.ids+1)}, in)
	if err != nil {
		if known := (*protocol.Error)(nil); !errors.As(err, &known) {
			w.fail("host: " + err.Error())
		}
		return err
	}
	at.commit(&step.Rows)
	at.state = step.State
	for _, e := range step.Effects {
		w.act(h, e)
	}
	return nil
}

// commit makes the rows of a step durable.
func (h *host) commit(rows *core.Write) {
	if rows.Session == nil {
		return
	}
	j := &h.journal
	j.session = *rows.Session
	j.letters += len(rows.DeadLetters)
	for _, t := range rows.Turns {
		j.turns = slices.DeleteFunc(slices.Clone(j.turns), func(u core.TurnRecord) bool { return u.ID == t.ID })
		if t.State != core.TurnFinished {
			j.turns = append(j.turns, t)
		}
	}
	if len(rows.Events) == 0 {
		return
	}
	events := slices.DeleteFunc(slices.Clone(j.events), func(e core.EventRecord) bool {
		return slices.Contains(rows.DropEvents, e.Cursor)
	})
	if len(rows.Events) > len(rows.DropEvents) {
		h.ids++
		h.made = slices.Clone(h.made)
		for i := range rows.Events {
			h.made = append(h.made, rows.Events[i].EventID)
		}
	}
	events = append(events, rows.Events...)
	slices.SortFunc(events, func(a, b core.EventRecord) int {
		if a.Cursor.Less(b.Cursor) {
			return -1
		}
		return 1
	})
	j.events = events
}

// act runs the effects that come back as inputs. The others concern agents, streams and
// waits: a wait may end at any time here.
func (w *World) act(h int, effect core.Effect) {
	at := &w.hosts[h]
	switch e := effect.(type) {
	case core.CountPending:
		_ = w.input(h, core.PendingCounted{Events: int64(len(at.journal.after(at.state.Record.Acked, 0)))})
	case core.ReadPending:
		_ = w.input(h, core.PendingRead{Version: e.Version, Events: at.journal.after(at.state.Record.Acked, 0)})
	case core.Interrupt:
		_ = w.input(h, core.Interrupted{Reason: e.Reason})
	case core.StopAgent:
		_ = w.input(h, core.AgentEnded{TurnID: e.TurnID})
	}
}

// text has the agent of the open turn report a text, which is one event.
func (w *World) text(h int) {
	turn := w.hosts[h].state.OpenTurn()
	_ = w.input(h, core.AgentText{TurnID: turn, Text: "x"})
	_ = w.input(h, core.AgentTextEnded{TurnID: turn})
}

// openSession gives a host a POST /session, followed by the prompt of its turn.
func (w *World) openSession(r *request) {
	h, turn, cursor := r.host, r.turn, r.cursor
	in := core.Opened{
		Request: protocol.OpenSessionRequest{
			SessionID: sessionID, BrokerID: brokerID, WebhookURL: hook, Cursor: &cursor, Incarnation: name(r.label),
			Turn: &protocol.AnnouncedTurn{ID: turn, Rev: r.rev},
		},
		DefaultAgent: "a", Token: core.TokenRecord{SessionID: sessionID, TurnID: turn, ExpiresAt: now.Add(time.Hour)},
	}
	if w.rules.AnyOrder {
		in.Request.Turn.Rev = 0
	}
	life := w.hosts[h].state.Record.Incarnation
	var later *protocol.Error
	switch err := w.input(h, in); {
	case errors.As(err, &later) && later.Code == protocol.CodeConflict:
		rev, _ := later.Fields["rev"].(int64)
		w.refused(*r, rev)
		return
	case err != nil:
		return
	}
	latest := &w.hosts[h].latest
	if latest.incarnation == r.label && life == name(r.label) && r.rev < latest.rev {
		w.fail("9 a late check-in has no effect: " + turn + " takes the place of a later one")
	}
	*latest = turnRev{r.label, r.rev}
	if w.hosts[h].state.OpenTurn() == "" && w.input(h, core.Prompted{
		TurnID: turn, Request: protocol.PromptRequest{Prompt: "p"}, Journaled: "p",
	}) == nil {
		_ = w.input(h, core.AgentStarted{TurnID: turn, Agent: "a"})
	}
}

// restart kills a host and starts it with its journal alone. Requests that it sent before
// may still reach a broker.
func (w *World) restart(h int) {
	at := &w.hosts[h]
	for i := range w.posts {
		if w.posts[i].host == h && w.posts[i].kind != checkIn {
			w.posts[i].abandoned = true
		}
	}
	w.posts = slices.DeleteFunc(w.posts, func(r request) bool { return r.abandoned && r.committed })
	at.state = core.New(sessionID)
	j := &at.journal
	loaded := core.Loaded{Session: j.session, Turns: j.turns, Pending: int64(len(j.after(j.session.Acked, 0)))}
	_ = w.input(h, core.Recovered{Loaded: loaded})
}

// name returns the id of an incarnation.
func name(incarnation int) string { return fmt.Sprint("i", incarnation) }
