package broker_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		task := k.task()
		for i := range 6 {
			k.mustSend(task.ID, "", seqd(1, int64(i+1), "t1", text(fmt.Sprint(i+1))))
		}
		n := func(v int64) *int64 { return &v }
		cases := []struct {
			rule string
			q    broker.MessageQuery
			want string // the texts, then nextAfter
		}{
			{"from the start", broker.MessageQuery{Limit: 2}, "1 2 → 2"},
			{"after", broker.MessageQuery{After: n(2), Limit: 3}, "3 4 5 → 5"},
			{"before: the page that ends there, ascending", broker.MessageQuery{Before: n(5), Limit: 2}, "3 4 → 4"},
			{"between", broker.MessageQuery{After: n(1), Before: n(4)}, "2 3 → 3"},
			{"since a rev", broker.MessageQuery{Since: n(6)}, "6 → 6"},
			{"an empty page stays where it was", broker.MessageQuery{After: n(6)}, " → 6"},
			{"a limit is clamped", broker.MessageQuery{Limit: -5}, "1 2 3 4 5 6 → 6"},
		}
		for _, c := range cases {
			t.Run(c.rule, func(t *testing.T) {
				list, err := k.tasks.Messages(k.ctx, k.user.UserID, task.ID, c.q)
				k.must(err)
				var texts []string
				for _, m := range list.Messages {
					texts = append(texts, m.Message)
				}
				if got := fmt.Sprintf("%s → %d", strings.Join(texts, " "), list.NextAfter); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
				if list.Rev != 7 {
					t.Errorf("rev %d", list.Rev)
				}
			})
		}
	})
}

func TestChanges(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		task := k.task()
		k.mustSend(task.ID, "", seqd(1, 1, "t1", text("a")), seqd(1, 2, "t1", text("b")), seqd(1, 3, "t1", text("c")))
		revs := func(since int64, limit int) []int64 {
			changes, _, err := k.feeds.Changes(k.ctx, k.user.UserID, task.ID, since, limit)
			k.must(err)
			var all []int64
			for _, c := range changes {
				all = append(all, c.Rev)
			}
			return all
		}
		same(t, revs(0, 0), `[1,2,3,4]`)
		same(t, revs(1, 2), `[2,3]`)
		same(t, revs(4, 0), `null`)
		for _, since := range []int64{-1, 5, 1 << 62} {
			if _, rev, err := k.feeds.Changes(k.ctx, k.user.UserID, task.ID, since, 0); !errors.Is(err, broker.ErrReset) ||
				rev != 4 {
				t.Errorf("since %d: rev %d, %v", since, rev, err)
			}
		}
		if _, err := k.store.PruneChanges(k.ctx, 2); err != nil {
			t.Fatal(err)
		}
		if _, _, err := k.feeds.Changes(k.ctx, k.user.UserID, task.ID, 1, 0); !errors.Is(err, broker.ErrReset) {
			t.Errorf("pruned: %v", err)
		}
		same(t, revs(2, 0), `[3,4]`)

		got, err := k.feeds.Revs(k.ctx, []string{task.ID, "unknown"})
		k.must(err)
		same(t, got, `{'`+task.ID+`':4}`)
		hints, err := k.feeds.Hints(k.ctx, k.user.UserID, 200)
		k.must(err)
		same(t, hints, `[{'taskId':'`+task.ID+`','rev':4,'agentStatus':'busy','reason':'','openInteractions':0}]`)
		since, err := k.feeds.HintsSince(k.ctx, []string{k.user.UserID}, start)
		k.must(err)
		if len(since) != 1 || since[0].UserID != k.user.UserID || since[0].TaskHint != hints[0] ||
			!since[0].ChangedAt.Equal(start) {
			t.Errorf("%+v", since)
		}
		since, err = k.feeds.HintsSince(k.ctx, []string{k.user.UserID}, start.Add(time.Microsecond))
		k.must(err)
		if len(since) != 0 {
			t.Errorf("%+v", since)
		}
	})
}

func TestMessagesWithTheirTurns(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	const asked = `'type':'interaction','kind':'confirm','prompt':'Run it?','interactionId':`
	k.mustSend(task.ID, "",
		seqd(1, 1, "t1", text("one")),
		seqd(1, 2, "t1", asked+`'q1','state':'open'`),
		seqd(1, 3, "t1", asked+`'q1','state':'resolved','answer':{'approved':false,'reason':'interrupted'}`),
		seqd(1, 4, "t1", `'type':'finish','finishReason':'other','reason':'aborted'`),
		seqd(1, 5, "t2", text("two")),
		seqd(1, 6, "t2", asked+`'q2','state':'open'`),
	)
	list, err := k.tasks.Messages(k.ctx, k.user.UserID, task.ID, broker.MessageQuery{With: "turns"})
	k.must(err)
	if len(list.Turns) != 1 || list.Turns[0].ID != "t1" || list.Turns[0].Reason != protocol.ReasonAborted {
		t.Errorf("turns %+v", list.Turns)
	}
	if len(list.Interactions) != 2 || list.Interactions[0].Answer.Reason != "interrupted" ||
		list.Interactions[1].State != protocol.InteractionOpen {
		t.Errorf("questions %+v", list.Interactions)
	}
	one := int64(1)
	list, err = k.tasks.Messages(k.ctx, k.user.UserID, task.ID, broker.MessageQuery{With: "turns", After: &one})
	k.must(err)
	if len(list.Turns) != 0 || len(list.Interactions) != 1 || list.Interactions[0].ID != "q2" {
		t.Errorf("of the second turn %+v", list)
	}
	plain, err := k.tasks.Messages(k.ctx, k.user.UserID, task.ID, broker.MessageQuery{})
	k.must(err)
	if plain.Turns != nil || plain.Interactions != nil {
		t.Errorf("unasked %+v", plain)
	}
	_, err = k.tasks.Messages(k.ctx, k.user.UserID, task.ID, broker.MessageQuery{With: "everything"})
	same(t, fault(err), `{'code':'invalid','error':'with must be turns','hint':'Leave it out for messages only'}`)
}

// Clients name the greatest number that they know for "from the end".
func TestPositionsOfMessagesDoNotOverflow(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	k.mustSend(task.ID, "", seqd(1, 1, "t1", text("one")))
	first, largest := int64(0), int64(math.MaxInt64)
	for name, c := range map[string]struct {
		q    broker.MessageQuery
		want int
	}{
		"after":           {broker.MessageQuery{After: &largest}, 0},
		"since":           {broker.MessageQuery{Since: &largest}, 0},
		"after and since": {broker.MessageQuery{After: &largest, Since: &first}, 0},
		"before":          {broker.MessageQuery{Before: &largest}, 1},
	} {
		list, err := k.tasks.Messages(k.ctx, k.user.UserID, task.ID, c.q)
		if err != nil || len(list.Messages) != c.want || list.NextAfter > protocol.MaxPosition {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}
