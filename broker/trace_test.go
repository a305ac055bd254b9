package broker_test

import (
	"testing"

	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// A refusal stores late events of an ended epoch, and an audit row for content that
// contradicts the stored event (reliability IN-6).
func TestRefusalsStoreLateEventsAndAudit(t *testing.T) {
	t.Parallel()
	testenv.EachDatabase(t, func(t *testing.T, kind string) {
		db := storetest.OpenDB(t, storetest.URL(t, kind))
		k := kitOn(t, store.New(db, storetest.Sealer(t)))
		task := k.task()
		refused := func(code protocol.Code, bodies ...string) {
			t.Helper()
			if _, err := k.send(task.ID, "", bodies...); protocol.CodeOf(err) != code {
				t.Errorf("%q: %v, want %s", bodies, err, code)
			}
		}
		k.mustSend(task.ID, "", seqd(2, 1, "t1", text("a")), seqd(2, 2, "t1", finishStop))
		refused(protocol.CodeFenced, seqd(1, 8, "t0", text("late")), seqd(1, 9, "t0", text("later")))
		refused(protocol.CodeFenced, seqd(1, 9, "t0", text("later")))
		refused(protocol.CodeConflict, seqd(2, 1, "t1", text("other")))
		refused(protocol.CodeConflict, seqd(1, 9, "t0", text("other")))
		refused(protocol.CodeDiverged, `{'eventId':'x','epoch':2,'seq':2,'timestamp':1,'type':'text','id':'t','text':'b'}`)
		refused(protocol.CodeGap, seqd(2, 9, "t1", text("b")))

		var kept []string
		k.must(db.Conn(k.ctx).Raw("SELECT event_id FROM events WHERE task_id = ? AND late ORDER BY event_id",
			task.ID).Scan(&kept).Error)
		same(t, kept, `['e1-8','e1-9']`)
		var audited []string
		k.must(db.Conn(k.ctx).Raw("SELECT what || ' ' || event_id FROM audit WHERE task_id = ? ORDER BY id",
			task.ID).Scan(&audited).Error)
		same(t, audited, `['conflict e2-1','conflict e1-9','diverged x']`)
		same(t, k.brief(task.ID), `{'status':'idle','open':'','last':{'id':'t1','finishReason':'stop','reason':'','usage':null},
			'messages':[{'role':'ASSISTANT','turn':'t1','status':'SENT','text':'a'}]}`)
	})
}
