package broker_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"pgregory.net/rapid"

	"bellhop/broker"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

// Whatever the network does to a journal (lose, repeat, batch, reorder), the rows
// end up as if it had been delivered once and in order. The host of this test
// follows protocol section 2: it sends from any position and rewinds after a gap.
func TestAnyDeliveryOfAJournalLeavesTheSameRows(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	rapid.Check(t, func(r *rapid.T) {
		journal := drawJournal(r)
		want := k.task()
		k.mustSend(want.ID, "", journal...)

		task := k.task()
		acked := int64(0)
		for steps := 0; acked < int64(len(journal)); steps++ {
			from := rapid.IntRange(0, len(journal)-1).Draw(r, "from")
			if steps > 20 {
				from = int(acked)
			}
			to := min(from+rapid.IntRange(1, 6).Draw(r, "batch"), len(journal))
			answer, err := k.send(task.ID, "", journal[from:to]...)
			var refused *protocol.Error
			switch {
			case err == nil:
				acked = answer.Cursor.Seq
			case errors.As(err, &refused) && refused.Code == protocol.CodeGap:
				if int64(from) <= acked && acked != refused.Cursor.Seq {
					r.Fatalf("gap %v at %d, acknowledged %d", refused.Cursor, from, acked)
				}
			default:
				r.Fatalf("events %d to %d: %v", from, to, err)
			}
		}
		a, b := shape(r, k, want.ID), shape(r, k, task.ID)
		if a != b {
			r.Fatalf("in order %s\nelse     %s", a, b)
		}
	})
}

// A basic host's events have no order. The halves of a tool use are still joined,
// and no row is doubled.
func TestAnyOrderOfABasicHostsToolsLeavesTheSameRows(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	var bodies []string
	for i := range 4 {
		bodies = append(bodies,
			fmt.Sprintf(`{'type':'tool-call','toolCallId':'c%d','toolName':'sh','input':%d,'timestamp':%d}`, i, i, i),
			fmt.Sprintf(`{'type':'tool-result','toolCallId':'c%d','toolName':'sh','output':%d,'timestamp':%d}`, i, i, i+1))
	}
	rapid.Check(t, func(r *rapid.T) {
		task := k.task()
		for _, body := range rapid.Permutation(append(bodies, bodies...)).Draw(r, "order") {
			k.mustSend(task.ID, "t1", body)
		}
		states := map[string]protocol.ToolUse{}
		for _, m := range k.messages(task.ID) {
			var use protocol.ToolUse
			if err := json.Unmarshal(m.Artifacts[0].Content, &use); err != nil {
				r.Fatal(err)
			}
			states[use.ToolCallID] = use
			if use.State != protocol.ToolDone || string(use.Input) != string(use.Output) {
				r.Fatalf("%+v", use)
			}
		}
		if len(states) != 4 || len(k.messages(task.ID)) != 4 {
			r.Fatalf("%d rows of %d uses", len(k.messages(task.ID)), len(states))
		}
	})
}

func drawJournal(r *rapid.T) []string {
	kinds := []string{
		text("hello"), text(""), `'type':'status','status':'busy'`, `'type':'status','status':'idle','reason':'waiting'`,
		`'type':'tool-call','toolCallId':'a','toolName':'sh','input':1`,
		`'type':'tool-result','toolCallId':'a','toolName':'sh','output':2`,
		`'type':'tool-result','toolCallId':'b','toolName':'sh','output':2,'isError':true`,
		`'type':'interaction','interactionId':'q','state':'open','kind':'confirm','prompt':'?'`,
		`'type':'interaction','interactionId':'q','state':'resolved','kind':'confirm','answer':{'approved':true}`,
		`'type':'error','message':'oops'`, `'type':'weather'`,
		finishStop, `'type':'finish','finishReason':'other','reason':'aborted'`,
	}
	n := rapid.IntRange(1, 20).Draw(r, "events")
	journal := make([]string, n)
	for i := range journal {
		turn := fmt.Sprint("t", rapid.IntRange(1, 3).Draw(r, "turn"))
		journal[i] = seqd(1, int64(i+1), turn, rapid.SampledFrom(kinds).Draw(r, "kind"))
	}
	return journal
}

// shape returns a task's rows without the values that differ between any two tasks:
// ids, and revs, which depend on the batches.
func shape(r *rapid.T, k *kit, id string) string {
	type row struct {
		Turn, Text, Event string
		Tool              json.RawMessage
	}
	var rows []row
	for i, m := range k.messages(id) {
		if m.Seq != int64(i+1) {
			r.Fatalf("message %d has seq %d", i+1, m.Seq)
		}
		line := row{Turn: m.TurnID, Text: m.Message, Event: m.EventID}
		for _, a := range m.Artifacts {
			line.Tool = a.Content
		}
		rows = append(rows, line)
	}
	task := k.get(id)
	questions, err := k.store.TaskInteractions(k.ctx, id, []string{"q"})
	if err != nil {
		r.Fatal(err)
	}
	for i := range questions {
		questions[i].TaskID = ""
	}
	changes, rev, err := k.feeds.Changes(k.ctx, k.user.UserID, id, 0, 500)
	if err != nil || int64(len(changes)) != rev {
		r.Fatalf("%d changes up to rev %d: %v", len(changes), rev, err)
	}
	all, err := json.Marshal([]any{
		rows, task.AgentStatus, task.Reason, task.OpenTurn, task.LastTurn, task.OpenInteractions, questions,
	})
	if err != nil {
		r.Fatal(err)
	}
	return string(all)
}

// Two replicas receive the same journal at once; each rewinds to the cursor of a
// gap.
func TestTwoReplicasOfAJournalLeaveTheSameRows(t *testing.T) {
	t.Parallel()
	st := storetest.OpenPostgres(t)
	k := kitOn(t, st)
	other := &broker.Ingest{Store: st, Updater: k.updater, Now: k.clock.Now, Log: slog.New(slog.DiscardHandler)}
	task := k.task()
	const n = 60
	deliver := func(ingest *broker.Ingest, batch int) error {
		for seq := int64(0); seq < n; {
			var bodies []string
			for i := seq + 1; i <= min(seq+int64(batch), n); i++ {
				bodies = append(bodies, seqd(1, i, "t1", text("x")))
			}
			answer, err := ingest.Ingest(t.Context(), task.ID, "", inbound(t, bodies...))
			if err != nil {
				return err
			}
			seq = answer.Cursor.Seq
		}
		return nil
	}
	done := make(chan error, 2)
	go func() { done <- deliver(k.ingest, 3) }()
	go func() { done <- deliver(other, 7) }()
	k.must(errors.Join(<-done, <-done))
	if got := len(k.messages(task.ID)); got != n {
		t.Errorf("%d messages", got)
	}
}
