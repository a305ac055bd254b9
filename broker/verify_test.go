package broker_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

// bodies yields events in which ' stands for ".
func bodies(events []string) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for _, e := range events {
			if !yield(json.RawMessage(strings.ReplaceAll(e, "'", `"`)), nil) {
				return
			}
		}
	}
}

func TestVerifyFindsEveryDifference(t *testing.T) {
	t.Parallel()
	complete := []string{
		seqd(1, 1, "t1", text("one")), seqd(1, 2, "t1", text("two")), seqd(1, 3, "t1", finishStop),
		seqd(2, 1, "t2", text("three")), seqd(2, 2, "t2", finishStop),
	}
	without := func(i int) []string { return slices.Delete(slices.Clone(complete), i, i+1) }
	for _, c := range []struct {
		name    string
		stored  []string
		journal []string
		acked   protocol.Cursor
		damage  string // SQL
		want    string
	}{
		{"equal", complete, complete, protocol.Cursor{Epoch: 2, Seq: 2}, "", `{'journal':5,'stored':5}`},
		{
			"not acknowledged yet", complete[:3], complete,
			protocol.Cursor{Epoch: 1, Seq: 3},
			"", `{'journal':5,'stored':3,'pending':2}`,
		},
		{"lost", complete[:4], complete, protocol.Cursor{Epoch: 2, Seq: 2}, "", `{'journal':5,'stored':4,'missing':1,
			'first':'event e2-2 at 2/2 (finish): it was acknowledged and is not in the database'}`},
		{
			"other content", complete, append(slices.Clone(complete[:4]), seqd(2, 2, "t2", text("other"))),
			protocol.Cursor{Epoch: 2, Seq: 2},
			"",
			`{'journal':5,'stored':4,'different':1,'first':'event e2-2 at 2/2 (text): the database has other content'}`,
		},
		{
			"a hole in the journal", complete, without(1),
			protocol.Cursor{Epoch: 2, Seq: 2},
			"",
			`{'journal':4,'stored':4,'holes':1,'invented':1,'first':'event e1-3 at 1/3 (finish): the journal skips positions before it'}`,
		},
		{
			"the journal was restored from an older copy", complete, append(slices.Clone(complete[:1]), complete[3:]...),
			protocol.Cursor{Epoch: 2, Seq: 2},
			"",
			`{'journal':3,'stored':3,'superseded':2}`,
		},
		{
			"retention removed bodies", complete, complete,
			protocol.Cursor{Epoch: 2, Seq: 2},
			`UPDATE log SET body = NULL WHERE type <> 'text'`,
			`{'journal':5,'stored':5,'pruned':2}`,
		},
		{
			"a message is missing", complete, complete,
			protocol.Cursor{Epoch: 2, Seq: 2},
			`UPDATE log SET seq = NULL WHERE body LIKE '%"two"%'`,
			`{'journal':5,'stored':5,'messages':1,'first':'event e1-2 at 1/2 (text): its message is missing, or is out of order'}`,
		},
		{
			"messages are in another order", complete, complete,
			protocol.Cursor{Epoch: 2, Seq: 2},
			`UPDATE log SET seq = 100 - seq WHERE seq IS NOT NULL`,
			`{'journal':5,'stored':5,'messages':1,` +
				`'first':'event e1-2 at 1/2 (text): its message is missing, or is out of order'}`,
		},
		{
			"an event, and so its message, has another text", complete, complete,
			protocol.Cursor{Epoch: 2, Seq: 2},
			`UPDATE log SET body = replace(body, '"two"', '"zwei"')`,
			`{'journal':5,'stored':4,'different':1,'first':'event e1-2 at 1/2 (text): the database has other content'}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := storetest.OpenDB(t, storetest.SQLiteURL(t))
			k := kitOn(t, store.New(db, storetest.Sealer(t)))
			task := k.task()
			for _, e := range c.stored {
				k.mustSend(task.ID, "", e)
			}
			if c.damage != "" {
				_, err := db.Exec(k.ctx, "damage", "", c.damage)
				k.must(err)
			}
			v := (&broker.Verifier{Store: k.store}).Session(k.ctx, task.ID, c.acked, bodies(c.journal))
			if ok := !strings.Contains(c.want, "first"); v.OK() != ok {
				t.Errorf("ok: %t", v.OK())
			}
			v.SessionID = ""
			same(t, withoutZeros(t, v), c.want)
		})
	}
}

func withoutZeros(t *testing.T, v any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for name, value := range all {
		if value == float64(0) || value == "" {
			delete(all, name)
		}
	}
	return all
}

func TestVerifyReportsWhatItCannotCompare(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	verifier := &broker.Verifier{Store: k.store}
	if v := verifier.Session(k.ctx, "orphan", protocol.Cursor{},
		bodies([]string{seqd(1, 1, "t1", text("one"))})); !v.Unknown || v.OK() || v.Journal != 1 {
		t.Errorf("an orphan: %+v", v)
	}
	broken := func(yield func(json.RawMessage, error) bool) { yield(nil, errors.New("the host is down")) }
	if v := verifier.Session(k.ctx, k.task().ID, protocol.Cursor{}, broken); v.OK() ||
		v.Differs() || v.Error != "read the journal: the host is down" {
		t.Errorf("an unreadable journal: %+v", v)
	}
	damaged := verifier.Session(k.ctx, k.task().ID, protocol.Cursor{}, bodies([]string{`{"type":`}))
	if !damaged.Differs() || damaged.Different != 1 || !strings.Contains(damaged.First, "cannot be read") {
		t.Errorf("an event that is damaged: %+v", damaged)
	}
}

// A fenced event is stored without effects; its acknowledgement was right.
func TestVerifyCountsLateEvents(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	k.mustSend(task.ID, "", seqd(2, 1, "t2", text("newer")))
	if _, err := k.send(task.ID, "", seqd(1, 1, "t1", text("late"))); protocol.CodeOf(err) != protocol.CodeFenced {
		t.Fatal(err)
	}
	v := (&broker.Verifier{Store: k.store}).Session(k.ctx, task.ID, protocol.Cursor{Epoch: 2, Seq: 1},
		bodies([]string{seqd(1, 1, "t1", text("late")), seqd(2, 1, "t2", text("newer"))}))
	if !v.OK() || v.Late != 1 || v.Stored != 1 {
		t.Errorf("%+v", v)
	}
}

// BenchmarkVerify compares a session of 100,000 events.
func BenchmarkVerify(b *testing.B) {
	const events, page = 100_000, 100
	st := storetest.Open(b)
	user := &broker.User{ID: protocol.NewID(), Email: "a@example.org", CreatedAt: start}
	if err := st.CreateUser(b.Context(), user); err != nil {
		b.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	updater := &broker.Updater{Store: st, Now: time.Now}
	tasks := &broker.Tasks{Store: st, Updater: updater, Now: time.Now, Log: log}
	task, err := tasks.Create(b.Context(), broker.Caller{UserID: user.ID, Admin: true},
		&protocol.CreateTaskRequest{Title: "x"})
	if err != nil {
		b.Fatal(err)
	}
	ingest := &broker.Ingest{Store: st, Updater: updater, Now: time.Now, Log: log}
	var journal []string
	for seq := int64(1); seq <= events; seq++ {
		journal = append(journal, strings.ReplaceAll(seqd(1, seq, "t1", text(fmt.Sprint("text ", seq))), "'", `"`))
		if seq%page > 0 {
			continue
		}
		batch := make([]broker.Inbound, page)
		for i, raw := range journal[seq-page:] {
			event, err := protocol.ParseEvent([]byte(raw))
			if err != nil {
				b.Fatal(err)
			}
			batch[i] = broker.Inbound{Raw: json.RawMessage(raw), Event: event}
		}
		if _, err := ingest.Ingest(b.Context(), task.ID, "", batch); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		v := (&broker.Verifier{Store: st}).Session(b.Context(), task.ID,
			protocol.Cursor{Epoch: 1, Seq: events}, bodies(journal))
		if !v.OK() || v.Stored != events {
			b.Fatalf("%+v", v)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
}
