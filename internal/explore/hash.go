package explore

import (
	"bytes"
	"hash/maphash"
	"reflect"
	"slices"
	"strconv"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// fingerprint distinguishes two Worlds; equal Worlds have the same one. Its 128 bits make
// it unlikely that two of a billion Worlds are taken for equal.
type fingerprint [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// text is the part of a World's state that its fingerprint covers, in a fixed order.
type text []byte

func (t *text) num(list ...int64) {
	for _, n := range list {
		*t = append(strconv.AppendInt(*t, n, 10), ' ')
	}
}

func (t *text) yes(list ...bool) {
	for _, b := range list {
		*t = strconv.AppendBool(*t, b)
	}
}

func (t *text) word(list ...string) {
	for _, s := range list {
		*t = append(append(*t, s...), '|')
	}
}

func (t *text) cursor(list ...protocol.Cursor) {
	for _, c := range list {
		t.num(c.Epoch, c.Seq)
	}
}

func (t *text) events(list []core.EventRecord) {
	for i := range list {
		t.word(list[i].EventID)
		t.cursor(list[i].Cursor)
	}
}

// sorted appends parts whose order has no meaning.
func (t *text) sorted(parts []text) {
	slices.SortFunc(parts, func(a, b text) int { return bytes.Compare(a, b) })
	for _, part := range parts {
		*t = append(append(*t, part...), '#')
	}
}

// fingerprint ignores the order of the brokers and of the requests under way: it has no
// effect on what can happen.
func (w *World) fingerprint() fingerprint {
	t := make(text, 0, 2048)
	l := &w.left
	for _, n := range []int{
		l.Events, l.Faults, l.Pulls, l.CheckIns, l.Restarts, l.Journals, l.Database, l.Moves, l.Forged,
		w.incarnations, w.checkIns,
	} {
		t.num(int64(n))
	}
	t.yes(w.restored[0], w.restored[1], w.moved)
	t.word(w.excused...)
	w.db.appendTo(&t)
	for h := range w.hosts {
		w.hosts[h].appendTo(&t)
	}
	parts := make([]text, 0, 8)
	for b := range w.broker {
		parts = append(parts, w.broker[b].text())
	}
	t.sorted(parts)
	parts = parts[:0]
	for i := range w.posts {
		parts = append(parts, w.posts[i].text(w))
	}
	t.sorted(parts)
	return fingerprint{maphash.Bytes(seeds[0], t), maphash.Bytes(seeds[1], t)}
}

func (d *database) appendTo(t *text) {
	t.cursor(d.cursor)
	t.num(int64(d.incarnation), int64(d.host), d.rev)
	t.yes(d.copied)
	for i := range d.rows {
		t.word(d.rows[i].id)
		t.cursor(d.rows[i].at)
		t.yes(d.rows[i].late)
	}
}

// appendTo leaves out how often delivery failed in a row: a wait may end at any time.
func (h *host) appendTo(t *text) {
	rec, delivery := &h.state.Record, reflect.ValueOf(&h.state.Delivery).Elem()
	t.num(int64(h.ids), h.state.Pending, int64(h.journal.letters), int64(h.state.Delivery.Limit), rec.AnnouncedRev,
		int64(h.latest.incarnation), h.latest.rev)
	t.cursor(rec.Cursor, rec.Acked, rec.Resend, h.journal.session.Acked)
	t.word(string(rec.Outbox), rec.Incarnation, h.state.OpenTurn(), delivery.FieldByName("seen").String(),
		h.journal.session.Incarnation)
	t.yes(h.state.Announced != nil)
	for _, field := range []string{"renewed", "dueByAge", "dueNow", "compareDue", "Unsaved"} {
		t.yes(delivery.FieldByName(field).Bool())
	}
	t.events(h.journal.events)
}

func (b *broker) text() (t text) {
	t.num(int64(b.incarnation), int64(b.former), int64(b.pull.stage), int64(b.pull.host),
		b.pull.read.Epoch, b.pull.read.Current)
	t.cursor(b.pull.cursor)
	t.word(b.pull.last)
	t.events(b.pull.page)
	return t
}

// text contains how far a request's versions are behind the host's, not the versions
// themselves: a host only compares them.
func (r *request) text(w *World) (t text) {
	st := &w.hosts[r.host].state
	t.num(int64(r.kind), int64(r.host), int64(st.Delivery.Version-r.order.Version),
		int64(st.Delivery.AddressVersion-r.order.AddressVersion), int64(r.label))
	t.yes(r.committed, r.abandoned)
	t.cursor(r.cursor)
	t.word(r.turn)
	t.num(r.rev)
	t.events(r.list)
	if w.rules.LateLabel || r.kind == checkIn {
		t.num(int64(r.by))
	}
	switch in := r.answer.(type) {
	case core.DeliveryAccepted:
		t.cursor(*in.Cursor)
	case core.DeliveryRefused:
		t.word(string(in.Refusal.Code))
		if in.Refusal.Index != nil {
			t.num(int64(*in.Refusal.Index))
		}
		if in.Refusal.Cursor != nil {
			t.cursor(*in.Refusal.Cursor)
		}
	case core.TokenRenewed:
		t.cursor(*in.Cursor)
	}
	return t
}
