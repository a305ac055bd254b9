package broker_test

import (
	"sync"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// delivery is one request to the webhook and its response.
type delivery struct {
	claim string
	send  []string
	want  string // the accepted response
	fails string // the error response
}

func TestIngestAnswers(t *testing.T) {
	t.Parallel()
	basic := `{'type':'text','id':'text-1','text':'Hi','timestamp':1}`
	cases := []struct {
		rule string
		in   []delivery
	}{
		{"a stored event answers with the cursor", []delivery{
			{
				send: []string{seqd(1, 1, "t1", text("a"))},
				want: `{'success':true,'accepted':1,'duplicates':0,'cursor':{'epoch':1,'seq':1}}`,
			},
		}},
		{"a redelivery is a duplicate, also in other spelling and with the sessionId left out", []delivery{
			{
				send: []string{seqd(1, 1, "t1", text("a"))},
				want: `{'success':true,'accepted':1,'duplicates':0,'cursor':{'epoch':1,'seq':1}}`,
			},
			{
				send: []string{
					`{ 'text':'\u0061','type':'text','id':'t', 'timestamp':1.0e0,'turnId':'t1','seq':1,'epoch':1,'eventId':'e1-1'}`,
				},
				want: `{'success':true,'accepted':0,'duplicates':1,'cursor':{'epoch':1,'seq':1}}`,
			},
		}},
		{"a batch may hold duplicates of the store and of itself", []delivery{
			{
				send: []string{seqd(1, 1, "t1", text("a"))},
				want: `{'success':true,'accepted':1,'duplicates':0,'cursor':{'epoch':1,'seq':1}}`,
			},
			{
				send: []string{
					seqd(1, 1, "t1", text("a")), seqd(1, 2, "t1", text("b")),
					seqd(1, 2, "t1", text("b")), seqd(1, 3, "t1", text("c")),
				},
				want: `{'success':true,'accepted':2,'duplicates':2,'cursor':{'epoch':1,'seq':3}}`,
			},
		}},
		{"an unknown type is kept", []delivery{
			{
				send: []string{`{'type':'weather','eventId':'w','sky':'blue'}`},
				want: `{'success':true,'accepted':1,'duplicates':0,'cursor':null}`,
			},
			{
				send: []string{`{'type':'weather','eventId':'w','sky':'blue'}`},
				want: `{'success':true,'accepted':0,'duplicates':1,'cursor':null}`,
			},
		}},
		{"without epoch and seq the cursor is null", []delivery{
			{claim: "t1", send: []string{basic}, want: `{'success':true,'accepted':1,'duplicates':0,'cursor':null}`},
			{claim: "t1", send: []string{basic}, want: `{'success':true,'accepted':0,'duplicates':1,'cursor':null}`},
		}},
		{"a basic host's ids may repeat in another turn", []delivery{
			{claim: "t1", send: []string{basic}, want: `{'success':true,'accepted':1,'duplicates':0,'cursor':null}`},
			{claim: "t2", send: []string{basic}, want: `{'success':true,'accepted':1,'duplicates':0,'cursor':null}`},
		}},
		{"a known id with other content is a conflict", []delivery{
			{
				send: []string{seqd(1, 1, "t1", text("a"))},
				want: `{'success':true,'accepted':1,'duplicates':0,'cursor':{'epoch':1,'seq':1}}`,
			},
			{
				send:  []string{seqd(1, 1, "t1", text("b"))},
				fails: `{'code':'conflict','error':'An event with this id and other content is known'}`,
			},
		}},
		{"in a batch the index names the bad event, and nothing is stored", []delivery{
			{
				send:  []string{seqd(1, 1, "t1", text("a")), seqd(1, 1, "t1", text("b"))},
				fails: `{'code':'conflict','error':'An event with this id and other content is known','index':1}`,
			},
			{
				send: []string{seqd(1, 1, "t1", text("a"))},
				want: `{'success':true,'accepted':1,'duplicates':0,'cursor':{'epoch':1,'seq':1}}`,
			},
		}},
		{"a known epoch and seq with other content is diverged", []delivery{
			{
				send: []string{seqd(1, 1, "t1", text("a"))},
				want: `{'success':true,'accepted':1,'duplicates':0,'cursor':{'epoch':1,'seq':1}}`,
			},
			{
				send:  []string{`{'type':'text','eventId':'other','epoch':1,'seq':1,'id':'t','text':'b','timestamp':1}`},
				fails: `{'code':'diverged','error':'Another event stands at this epoch and seq','cursor':{'epoch':1,'seq':1}}`,
			},
		}},
		{"a seq above cursor+1 is a gap", []delivery{
			{
				send: []string{seqd(1, 1, "t1", text("a"))},
				want: `{'success':true,'accepted':1,'duplicates':0,'cursor':{'epoch':1,'seq':1}}`,
			},
			{
				send:  []string{seqd(1, 3, "t1", text("c"))},
				fails: `{'code':'gap','error':'Events are missing before this one','cursor':{'epoch':1,'seq':1}}`,
			},
			{
				send:  []string{seqd(1, 2, "t1", text("b")), seqd(1, 4, "t1", text("d"))},
				fails: `{'code':'gap','error':'Events are missing before this one','cursor':{'epoch':1,'seq':1},'index':1}`,
			},
		}},
		{"the first event ever is seq 1", []delivery{
			{
				send:  []string{seqd(3, 9, "t1", text("a"))},
				fails: `{'code':'gap','error':'Events are missing before this one','cursor':{'epoch':3,'seq':0}}`,
			},
		}},
		{"a later epoch is accepted at seq 1 only", []delivery{
			{
				send: []string{seqd(1, 1, "t1", text("a"))},
				want: `{'success':true,'accepted':1,'duplicates':0,'cursor':{'epoch':1,'seq':1}}`,
			},
			{
				send:  []string{seqd(2, 2, "t1", text("b"))},
				fails: `{'code':'gap','error':'Events are missing before this one','cursor':{'epoch':2,'seq':0}}`,
			},
			{
				send: []string{seqd(2, 1, "t1", text("b"))},
				want: `{'success':true,'accepted':1,'duplicates':0,'cursor':{'epoch':2,'seq':1}}`,
			},
		}},
		{"an event of an epoch that is over is fenced, again and again", []delivery{
			{
				send: []string{seqd(2, 1, "t1", text("a"))},
				want: `{'success':true,'accepted':1,'duplicates':0,'cursor':{'epoch':2,'seq':1}}`,
			},
			{
				send:  []string{seqd(1, 5, "t1", text("old"))},
				fails: `{'code':'fenced','error':'The event\u0027s epoch is over','cursor':{'epoch':2,'seq':1}}`,
			},
			{
				send:  []string{seqd(1, 5, "t1", text("old"))},
				fails: `{'code':'fenced','error':'The event\u0027s epoch is over','cursor':{'epoch':2,'seq':1}}`,
			},
			{
				send:  []string{seqd(2, 2, "t1", text("b")), seqd(1, 6, "t1", text("old"))},
				fails: `{'code':'fenced','error':'The event\u0027s epoch is over','cursor':{'epoch':2,'seq':1},'index':1}`,
			},
			{
				send: []string{seqd(2, 2, "t1", text("b"))},
				want: `{'success':true,'accepted':1,'duplicates':0,'cursor':{'epoch':2,'seq':2}}`,
			},
		}},
		{"an event stored before its epoch was over stays a duplicate", []delivery{
			{
				send: []string{seqd(1, 1, "t1", text("a"))},
				want: `{'success':true,'accepted':1,'duplicates':0,'cursor':{'epoch':1,'seq':1}}`,
			},
			{
				send: []string{seqd(2, 1, "t1", text("b"))},
				want: `{'success':true,'accepted':1,'duplicates':0,'cursor':{'epoch':2,'seq':1}}`,
			},
			{
				send: []string{seqd(1, 1, "t1", text("a"))},
				want: `{'success':true,'accepted':0,'duplicates':1,'cursor':{'epoch':2,'seq':1}}`,
			},
		}},
		{"an id that was used without a position is found behind the cursor too", []delivery{
			{
				send: []string{`{'type':'text','eventId':'e1-1','id':'t','text':'x','timestamp':1}`},
				want: `{'success':true,'accepted':1,'duplicates':0,'cursor':null}`,
			},
			{
				send:  []string{seqd(1, 1, "t1", text("a"))},
				fails: `{'code':'conflict','error':'An event with this id and other content is known'}`,
			},
		}},
		{"another session's event", []delivery{
			{
				send:  []string{`{'sessionId':'other','type':'text','id':'t','text':'x','timestamp':1}`},
				fails: `{'code':'invalid','error':'Session ID mismatch'}`,
			},
		}},
	}
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		for _, c := range cases {
			t.Run(c.rule, func(t *testing.T) {
				task := k.task()
				for _, d := range c.in {
					before := k.messages(task.ID)
					answer, err := k.send(task.ID, d.claim, d.send...)
					if d.fails == "" {
						same(t, answer, d.want)
					} else {
						same(t, fault(err), d.fails)
						if after := k.messages(task.ID); len(after) != len(before) {
							t.Errorf("a refused request left %d messages", len(after)-len(before))
						}
					}
				}
			})
		}
	})
}

func TestIngestOfAnotherTask(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	t.Run("the same event id on another task is another event", func(t *testing.T) {
		a, b := k.task(), k.task()
		want := `{'success':true,'accepted':1,'duplicates':0,'cursor':{'epoch':1,'seq':1}}`
		same(t, k.mustSend(a.ID, "", seqd(1, 1, "t", text("x"))), want)
		same(t, k.mustSend(b.ID, "", seqd(1, 1, "t", text("x"))), want)
	})
	t.Run("no such task", func(t *testing.T) {
		_, err := k.send(protocol.NewID(), "", seqd(1, 1, "t", text("x")))
		same(t, fault(err), `{'code':'not_found','error':'Task not found or not configured'}`)
		_, err = k.ingest.Secret(k.ctx, protocol.NewID())
		same(t, fault(err), `{'code':'not_found','error':'Task not found or not configured'}`)
	})
	t.Run("a deleted task is gone, and keeps its secret for 48 h", func(t *testing.T) {
		task := k.task()
		k.mustSend(task.ID, "", seqd(1, 1, "t", text("x")))
		secret, err := k.ingest.Secret(k.ctx, task.ID)
		k.must(err)
		k.must(k.delete(k.user.UserID, task.ID))
		_, err = k.send(task.ID, "", seqd(1, 2, "t", text("y")))
		same(t, fault(err), `{'code':'gone','error':'Task deleted'}`)
		_, err = k.tasks.Get(k.ctx, k.user.UserID, task.ID, broker.Await{})
		same(t, fault(err), `{'code':'not_found','error':'Task not found'}`)
		k.clock.Advance(47 * time.Hour)
		k.upkeep.Prune(k.ctx)
		kept, err := k.ingest.Secret(k.ctx, task.ID)
		if k.must(err); string(kept) != string(secret) || len(kept) != 64 {
			t.Errorf("another secret of %d bytes", len(kept))
		}
		k.clock.Advance(2 * time.Hour)
		k.upkeep.Prune(k.ctx)
		_, err = k.ingest.Secret(k.ctx, task.ID)
		same(t, fault(err), `{'code':'not_found','error':'Task not found or not configured'}`)
	})
}

func TestIngestSameEventOnTwoReplicas(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	sealer := storetest.Sealer(t)
	one := kitOn(t, store.New(storetest.OpenDB(t, url), sealer))
	other := store.New(storetest.OpenDB(t, url), sealer)
	updater := &broker.Updater{Store: other, Notifier: one.notified, Now: one.clock.Now}
	two := &broker.Ingest{Store: other, Updater: updater, Now: one.clock.Now, Log: one.ingest.Log}
	task := one.task()
	const events = 40
	bodies := make([]string, events)
	for i := range bodies {
		bodies[i] = seqd(1, int64(i+1), "t1", text("x"))
	}
	var mu sync.Mutex
	accepted, duplicates := 0, 0
	var wg sync.WaitGroup
	for _, replica := range []*broker.Ingest{one.ingest, two} {
		wg.Go(func() {
			for _, body := range bodies {
				answer, err := replica.Ingest(t.Context(), task.ID, "", inbound(t, body))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				accepted += answer.Accepted
				duplicates += answer.Duplicates
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if accepted != events || duplicates != events {
		t.Errorf("%d accepted, %d duplicates of %d", accepted, duplicates, events)
	}
	for i, m := range one.messages(task.ID) {
		if m.Seq != int64(i+1) {
			t.Fatalf("message %d has seq %d", i, m.Seq)
		}
	}
	if n := len(one.messages(task.ID)); n != events {
		t.Errorf("%d messages", n)
	}
}

func TestIngestSurvivesItsDatabase(t *testing.T) {
	t.Parallel()
	t.Run("a database that is away is unavailable, and nothing is lost by trying again", func(t *testing.T) {
		db := storetest.OpenDB(t, storetest.PostgresURL(t))
		k := kitOn(t, store.New(db, storetest.Sealer(t)))
		task := k.task()
		k.must(db.Close())
		_, err := k.send(task.ID, "", seqd(1, 1, "t", text("x")))
		if code := protocol.CodeOf(err); code != protocol.CodeUnavailable {
			t.Errorf("code %s: %v", code, err)
		}
	})
}

func TestRefusedEventsAreStoredForTheAudit(t *testing.T) {
	t.Parallel()
	testenv.EachDatabase(t, func(t *testing.T, kind string) {
		db := storetest.OpenDB(t, storetest.URL(t, kind))
		k := kitOn(t, store.New(db, storetest.Sealer(t)))
		task := k.task()
		k.mustSend(task.ID, "", seqd(2, 1, "t1", text("a")))
		for range 2 {
			_, err := k.send(task.ID, "", seqd(1, 1, "t1", text("late")), seqd(2, 2, "t1", text("b")),
				seqd(1, 2, "t1", text("later")))
			if protocol.CodeOf(err) != protocol.CodeFenced {
				t.Fatal(err)
			}
		}
		_, err := k.send(task.ID, "", seqd(2, 1, "t1", text("forged")))
		if protocol.CodeOf(err) != protocol.CodeConflict {
			t.Fatal(err)
		}
		var late, audited []string
		k.must(db.Conn(k.ctx).Raw(`SELECT event_id FROM events WHERE late ORDER BY event_id`).Scan(&late).Error)
		k.must(db.Conn(k.ctx).Raw(`SELECT what || ' ' || event_id FROM audit`).Scan(&audited).Error)
		same(t, late, `['e1-1','e1-2']`)
		same(t, audited, `['conflict e2-1']`)
		same(t, k.brief(task.ID),
			`{'status':'busy','open':'t1','messages':[{'role':'ASSISTANT','turn':'t1','status':'SENT','text':'a'}]}`)
	})
}

// PostgreSQL's fast path relies on the remembered task; a change by another replica
// in between forces the transaction.
func TestReplicasWithRememberedTasksDoNotOverwriteEachOther(t *testing.T) {
	t.Parallel()
	url, sealer := storetest.PostgresURL(t), storetest.Sealer(t)
	one := kitOn(t, store.New(storetest.OpenDB(t, url), sealer))
	two := kitWithUser(t, store.New(storetest.OpenDB(t, url), sealer), one.user)
	task := one.task()
	title := "Renamed"
	one.mustSend(task.ID, "", seqd(1, 1, "t1", text("1")))
	one.mustSend(task.ID, "", seqd(1, 2, "t1", text("2")))
	two.mustSend(task.ID, "", seqd(1, 3, "t1", text("3")))
	one.mustSend(task.ID, "", seqd(1, 4, "t1", text("4")))
	_, err := two.tasks.Update(two.ctx, two.user, task.ID, broker.TaskPatch{Title: &title})
	two.must(err)
	one.mustSend(task.ID, "", seqd(1, 5, "t1", text("5")))
	two.mustSend(task.ID, "", seqd(1, 6, "t1", finishStop))
	one.mustSend(task.ID, "", seqd(1, 7, "t1", text("6")))
	same(t, one.mustSend(task.ID, "", seqd(1, 5, "t1", text("5"))),
		`{'success':true,'accepted':0,'duplicates':1,'cursor':{'epoch':1,'seq':7}}`)
	_, err = one.send(task.ID, "", seqd(1, 7, "t1", text("other")))
	same(t, fault(err), `{'code':'conflict','error':'An event with this id and other content is known'}`)
	two.must(two.delete(two.user.UserID, task.ID))
	_, err = one.send(task.ID, "", seqd(1, 8, "t1", text("7")))
	same(t, fault(err), `{'code':'gone','error':'Task deleted'}`)

	task = one.task()
	one.mustSend(task.ID, "", seqd(1, 1, "t1", text("1")))
	one.mustSend(task.ID, "", seqd(1, 2, "t1", text("2")), seqd(1, 3, "t1", text("3")))
	two.mustSend(task.ID, "", seqd(1, 4, "t1", finishStop))
	one.mustSend(task.ID, "", seqd(1, 5, "t2", text("4")))
	same(t, one.brief(task.ID), `{'status':'busy','open':'t2','last':{'id':'t1','finishReason':'stop','reason':'','usage':null},'messages':[
		{'role':'ASSISTANT','turn':'t1','status':'SENT','text':'1'},{'role':'ASSISTANT','turn':'t1','status':'SENT','text':'2'},
		{'role':'ASSISTANT','turn':'t1','status':'SENT','text':'3'},{'role':'ASSISTANT','turn':'t2','status':'SENT','text':'4'}]}`)
}
