//go:build agents

package agents

import (
	"bytes"
	"database/sql"
	"path/filepath"

	_ "github.com/ncruces/go-sqlite3/driver" // for both databases

	"bellhop/protocol"
)

// event is a final event as stored in the journal or the database.
type event struct {
	at       protocol.Cursor
	id, turn string
	kind     protocol.EventType
	body     string
}

// sameEverywhere compares the host's journal with the broker's database after both have
// stopped: every event is stored once, in order, with the same body, and every turn has one
// end.
func (d *dev) sameEverywhere(task string) {
	d.t.Helper()
	journal := d.events(filepath.Join("host", "journal.db"),
		`SELECT epoch, seq, event_id, turn_id, type, body FROM events WHERE session_id = ? ORDER BY epoch, seq`, task)
	rows := d.events("broker.db",
		`SELECT epoch, seq, event_id, turn_id, type, body FROM events WHERE task_id = ? AND late = FALSE ORDER BY epoch, seq`,
		task)
	if len(journal) == 0 || len(journal) != len(rows) {
		d.t.Errorf("%d events in the journal, %d in the database", len(journal), len(rows))
		return
	}
	var last protocol.Cursor
	finishes := map[string]int{}
	for i, want := range journal {
		if want.at.Epoch != last.Epoch {
			last = protocol.Cursor{Epoch: want.at.Epoch}
		}
		if last.Seq++; want.at != last {
			d.t.Errorf("%v stands in the journal where %v is due", want.at, last)
			last = want.at
		}
		got := rows[i]
		if !sameJSON(want.body, got.body) {
			d.t.Errorf("event %v: row %s, journal %s", want.at, got.body, want.body)
		}
		if got.body = want.body; got != want {
			d.t.Errorf("event %+v has the row %+v", want, got)
		}
		if finishes[want.turn] > 0 && want.kind != protocol.EventStatus {
			d.t.Errorf("a turn continues after its end with %s", want.body)
		}
		switch {
		case want.kind == protocol.EventFinish:
			finishes[want.turn]++
		case want.turn != "":
			finishes[want.turn] += 0
		}
	}
	for turn, n := range finishes {
		if n != 1 {
			d.t.Errorf("turn %s has %d ends", turn, n)
		}
	}
}

func sameJSON(a, b string) bool {
	x, err1 := protocol.Canonical([]byte(a))
	y, err2 := protocol.Canonical([]byte(b))
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

func (d *dev) events(name, query, task string) []event {
	d.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(d.data, name)+"?_pragma=busy_timeout(5000)&_pragma=query_only(1)")
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	found, err := db.QueryContext(d.t.Context(), query, task)
	if err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	defer func() { _ = found.Close() }()
	var all []event
	for found.Next() {
		var e event
		if err := found.Scan(&e.at.Epoch, &e.at.Seq, &e.id, &e.turn, &e.kind, &e.body); err != nil {
			d.t.Fatalf("%s: %v", name, err)
		}
		all = append(all, e)
	}
	if err := found.Err(); err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	return all
}
