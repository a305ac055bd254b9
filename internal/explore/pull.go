package explore

import (
	"slices"

	"bellhop/agenthost/core"
	"bellhop/broker/sequencer"
	"bellhop/protocol"
)

// pullPage is how many events a broker asks for at once.
const pullPage = 100

type pullStage int

const (
	pullNone  pullStage = iota
	pullAsked           // the cursor was read
	pullRead            // the host has answered
)

// pull is a broker's reconciliation in progress. It ends with the broker.
type pull struct {
	stage  pullStage
	host   int
	cursor protocol.Cursor
	last   string
	page   []core.EventRecord
	read   sequencer.Page
}

// askEvents begins a pull at the task's cursor.
func (w *World) askEvents(b int, cursor protocol.Cursor) {
	p := pull{stage: pullAsked, host: w.db.host, cursor: cursor}
	if row := w.db.at(cursor); row != nil {
		p.last = row.id
	}
	w.broker[b].pull = p
}

// servePage is the host's answer.
func (w *World) servePage(b int) {
	p := &w.broker[b].pull
	at := &w.hosts[p.host]
	if !at.state.Durable {
		*p = pull{}
		return
	}
	epoch := p.cursor.Epoch
	ask := core.Pull{Epoch: &epoch, After: p.cursor.Seq, Last: p.last, Prompts: true}
	if at.withholds(&ask) && !w.rules.NoWithholding {
		*p = pull{}
		return
	}
	rows := at.journal.after(at.state.Begin(ask), pullPage)
	if len(rows) > 0 {
		first := rows[0].Cursor.Epoch
		rows = slices.DeleteFunc(rows, func(e core.EventRecord) bool { return e.Cursor.Epoch != first })
	}
	current := at.state.Record.Cursor.Epoch
	p.read = sequencer.Page{Epoch: current, Current: current, Events: len(rows)}
	if len(rows) > 0 {
		p.read.Epoch = rows[0].Cursor.Epoch
	}
	if !p.read.Follows(p.cursor) {
		*p = pull{}
		return
	}
	p.stage, p.page = pullRead, rows
}

// withholds asks the core with what the journal has.
func (h *host) withholds(ask *core.Pull) bool {
	if !h.state.MayWithhold(*ask) {
		return false
	}
	begin := h.state.Begin(*ask)
	at := h.journal.after(protocol.Cursor{Epoch: begin.Epoch, Seq: begin.Seq - 1}, 1)
	return h.state.Withholds(*ask, first(h.journal.after(h.state.Record.Acked, 1)), first(at))
}

func first(rows []core.EventRecord) *core.EventRecord {
	if len(rows) == 0 {
		return nil
	}
	return &rows[0]
}

// takePage ingests the page and, if there is more, asks for the next one.
func (w *World) takePage(b int) {
	p := w.broker[b].pull
	w.broker[b].pull = pull{}
	d := w.ingest(p.host, p.page, p.read.Current)
	if d.Refusal == nil && p.read.Continues(p.cursor, d.Cursor, pullPage) {
		w.askEvents(b, d.Cursor)
	}
}
