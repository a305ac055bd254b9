package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// message adds a message of the user to a task.
func (s suite) message(taskID string, seq int64, text string) {
	s.Helper()
	s.must(s.apply(taskID, func(b *broker.Batch) {
		b.Task.LastSeq, b.Task.Rev = seq, seq
		b.NewMessages = []broker.Message{{Message: protocol.Message{
			ID: protocol.NewID(), TaskID: taskID, Seq: seq, Rev: seq, Role: protocol.RoleUser, Status: protocol.MessageSent,
			Message: text, CreatedAt: now,
		}}}
	}))
}

// event adds text of the agent to a task.
func (s suite) event(taskID string, seq int64, text string) {
	s.Helper()
	body, err := protocol.Marshal(map[string]any{"type": "text", "id": "t", "timestamp": 1, "text": text})
	s.must(err)
	s.must(s.apply(taskID, func(b *broker.Batch) {
		id := protocol.NewID()
		b.Task.LastSeq, b.Task.Rev = seq, seq
		b.Events = []broker.StoredEvent{{
			EventID: id, Epoch: 1, Seq: seq, Type: protocol.EventText, Body: body, ReceivedAt: now,
		}}
		b.NewMessages = []broker.Message{{Message: protocol.Message{
			ID: protocol.NewID(), TaskID: taskID, Seq: seq, Rev: seq, Role: protocol.RoleAssistant, Status: protocol.MessageSent,
			Message: text, EventID: id, CreatedAt: now,
		}}}
	}))
}

// titled adds a task with a title; later tasks have a later activity.
func (s suite) titled(userID, title string, minute int) string {
	s.Helper()
	at := now.Add(time.Duration(minute) * time.Minute)
	task := &broker.Task{
		ID: protocol.NewID(), UserID: userID, Title: title, Mode: protocol.ModeAgent, AgentStatus: protocol.StatusNone,
		WebhookSecret: seal.NewSecret("webhook-secret"), CreatedAt: at, LastActivityAt: at, ChangedAt: at,
	}
	s.must(s.store.CreateTask(s.ctx, task))
	return task.ID
}

// finds returns the titles of the tasks that a user's search finds.
func (s suite) finds(userID, q string) []string {
	s.Helper()
	found, err := s.store.Tasks(s.ctx, userID, broker.TaskFilter{Q: q, Limit: 10})
	if err != nil {
		s.Fatalf("%q: %v", q, err)
	}
	titles := make([]string, len(found))
	for i := range found {
		titles[i] = found[i].Title
	}
	return titles
}

func testSearch(t *testing.T, s suite) {
	ada, bob := s.user(), s.user()
	login := s.titled(ada, "Fix the log-in page", 1)
	cafe := s.titled(ada, "Menu of the Café", 2)
	plain := s.titled(ada, "Untitled", 3)
	theirs := s.titled(bob, "Fix the secret login", 4)
	s.message(login, 1, "It says `can't sign in` on 10.0.0.7:8080, see foo_bar.go")
	s.event(login, 2, "The cookie's SameSite attribute is wrong 🍪🍪 (ÅNGSTRÖM)")
	s.message(cafe, 1, "価格表を見る, naïve façade, ΣΊΣΥΦΟΣ, ﬁnal")
	s.event(plain, 1, strings.Repeat("filler ", 20_000)+"needle "+strings.Repeat("y", 5000)+" x🎉y")
	s.message(theirs, 1, "cookie needle café")
	for _, c := range searches() {
		if got := s.finds(ada, c.q); !slices.Equal(got, c.want) {
			t.Errorf("%.60q finds %q, want %q", c.q, got, c.want)
		}
	}
}

// search is a query, and the titles of the tasks that it finds.
type search struct {
	q    string
	want []string
}

// searches are the queries of testSearch.
func searches() []search {
	menu, fix, un := "Menu of the Café", "Fix the log-in page", "Untitled"
	return []search{
		{"fix", []string{fix}},
		{"FIX PAGE", []string{fix}},
		{"page fix the", []string{fix}}, // in any order
		{"fix cookie", nil},             // a title and a message: not in one text
		{"cook same attr", []string{fix}},
		{"ookie", nil}, // words are found by their beginnings
		{"the", []string{menu, fix}},
		{"th", []string{menu, fix}},
		{"h", nil},               // a letter is found whole
		{"fix z", []string{fix}}, // the user is still writing the last word
		{"fix z ", nil},
		{"fix z page", nil},
		{"価格外", nil},
		{"in", []string{fix}},
		{"it", []string{fix}},
		{"cafe", []string{menu}},
		{"CAFÉ", []string{menu}},
		{"cafe\u0301", []string{menu}}, // the accent apart
		{"naive facade", []string{menu}},
		{"angstrom", []string{fix}},
		{"σίσυφος", []string{menu}},
		{"final", []string{menu}},
		{"価格", []string{menu}},
		{"格", []string{menu}},
		{"🍪", []string{fix}},
		{"🎉", []string{un}},
		{"🦀", nil},
		{"can't", []string{fix}},
		{`"sign in"`, []string{fix}},
		{"foo_bar.go", []string{fix}},
		{"10.0.0.7:8080", []string{fix}},
		{"fix OR needle", nil}, // operators are words
		{"fix AND page", nil},
		{"NOT fix", nil},
		{"fix*", []string{fix}},
		{"fix -page", []string{fix}},
		{"words:fix", nil},
		{"^fix", []string{fix}},
		{"(fix", []string{fix}},
		{"fix & page | the ! :*", []string{fix}},
		{`'fix' \ "page`, []string{fix}},
		{"fix'); DROP TABLE log; --", nil},
		{"100%", nil},
		{"%", nil},
		{"_", nil},
		{"?!.,;:", nil},
		{" \t\n", nil},
		{"\u0301", nil},
		{"\x00", nil},
		{"a\xffb", nil},
		{"\u202efix", []string{fix}},
		{"needle", []string{un}},
		{strings.Repeat("y", 4000), []string{un}},
		{strings.Repeat("needle ", 2000), []string{un}},
		{strings.Repeat("z", 100_000), nil},
	}
}

// A changed title is found by its new words only, and a deleted task not at all.
func testSearchFollows(t *testing.T, s suite) {
	ada := s.user()
	a, b := s.titled(ada, "Alpha", 1), s.titled(ada, "Beta", 2)
	s.message(a, 1, "shared words")
	s.message(b, 1, "shared words")
	want := func(q string, titles ...string) {
		t.Helper()
		if got := s.finds(ada, q); !slices.Equal(got, titles) {
			t.Errorf("%q finds %q, want %q", q, got, titles)
		}
	}
	want("shared", "Beta", "Alpha")
	s.must(s.apply(a, func(b *broker.Batch) { b.Task.Title = "Gamma" }))
	want("alpha")
	want("gamma", "Gamma")
	want("shared", "Beta", "Gamma")

	archived := true
	s.must(s.apply(a, func(b *broker.Batch) { b.Task.Archived = true }))
	found, err := s.store.Tasks(s.ctx, ada, broker.TaskFilter{Q: "shared", Archived: &archived, Limit: 10})
	s.must(err)
	if len(found) != 1 || found[0].ID != a {
		t.Errorf("archived: %+v", found)
	}
	found, err = s.store.Tasks(s.ctx, ada, broker.TaskFilter{
		Q: "shared", Limit: 1, Before: &broker.TaskPosition{At: now.Add(2 * time.Minute), ID: b},
	})
	s.must(err)
	if len(found) != 1 || found[0].ID != a {
		t.Errorf("the second page: %+v", found)
	}

	deleted := now.Add(-time.Hour)
	s.must(s.apply(b, func(b *broker.Batch) { b.Task.DeletedAt = &deleted }))
	want("shared", "Gamma")
	_, err = s.store.PurgeTasks(s.ctx, now)
	s.must(err)
	want("beta")
	want("shared", "Gamma")
}

// Searches runs the part of the contract that is about searches.
func Searches(t *testing.T, open func(t testing.TB) Store) {
	for name, test := range map[string]func(*testing.T, suite){
		"Search": testSearch, "SearchFollows": testSearchFollows, "FrequentWords": testFrequentWords,
		"SearchOfNeighbours": testSearchOfNeighbours,
	} {
		t.Run(name, func(t *testing.T) { test(t, suite{T: t, ctx: t.Context(), store: open(t)}) })
	}
}

// A word that many tasks have, beginnings of many words, and both at once.
func testFrequentWords(t *testing.T, s suite) {
	ada := s.user()
	const tasks, texts = 60, 50
	for i := range tasks {
		task := s.titled(ada, fmt.Sprintf("Task %d", i), i)
		s.must(s.apply(task, func(b *broker.Batch) {
			b.Task.LastSeq, b.Task.Rev = texts, texts
			for seq := int64(1); seq <= texts; seq++ {
				text := fmt.Sprintf("common zz%da zz%d", i, seq)
				if i == 1 && seq == 7 {
					text += " single pair"
				}
				b.NewMessages = append(b.NewMessages, broker.Message{Message: protocol.Message{
					ID: protocol.NewID(), TaskID: task, Seq: seq, Rev: seq, Role: protocol.RoleUser, Status: protocol.MessageSent,
					Message: text, CreatedAt: now,
				}})
			}
		}))
	}
	page := func(from, to int) (titles []string) {
		for i := from; i > to; i-- {
			titles = append(titles, fmt.Sprintf("Task %d", i))
		}
		return titles
	}
	for q, want := range map[string][]string{
		"common": page(59, 49), "comm": page(59, 49), "zz": page(59, 49), "zz comm": page(59, 49),
		"zz common zz5": page(59, 49), "common single": {"Task 1"}, "sing comm": {"Task 1"}, "zz single": {"Task 1"},
		"zz sing pai": {"Task 1"}, "zz7a": {"Task 7"}, "zz zz8a": {"Task 8"}, "common zz8a zz50": {"Task 8"},
		"zz zz51": {"Task 51"}, "task zz": nil, "zz missing": nil, "zzz": nil,
	} {
		if got := s.finds(ada, q); !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", q, got, want)
		}
	}
}

// The state of a task, as the database derives it for lists.
func testTaskStates(t *testing.T, s suite) {
	ada := s.user()
	states := map[string]broker.TaskState{}
	minute := 0
	add := func(state broker.TaskState, change func(t *broker.Task)) {
		s.Helper()
		minute++
		title := fmt.Sprint("Task ", minute)
		id := s.titled(ada, title, minute)
		s.must(s.apply(id, func(b *broker.Batch) { change(b.Task) }))
		states[title] = state
	}
	ended := func(state broker.TaskState, finish protocol.FinishReason, reason string) {
		s.Helper()
		add(state, func(t *broker.Task) {
			t.LastTurn = &protocol.LastTurn{ID: "turn", FinishReason: finish, Reason: reason}
		})
	}
	add("", func(*broker.Task) {})
	add(broker.TaskWaiting, func(t *broker.Task) {
		t.OpenQuestions, t.OpenTurn, t.AgentStatus = 1, "turn", protocol.StatusBusy
	})
	add(broker.TaskWorking, func(t *broker.Task) { t.AgentStatus = protocol.StatusBusy })
	add(broker.TaskWorking, func(t *broker.Task) { t.OpenTurn = "turn" })
	add("", func(t *broker.Task) { t.OpenTurn, t.Reason = "turn", "waiting" })
	add(broker.TaskWorking, func(t *broker.Task) {
		t.OpenTurn, t.LastTurn = "turn", &protocol.LastTurn{ID: "turn", FinishReason: protocol.FinishError}
	})
	ended("", protocol.FinishStop, "")
	ended("", protocol.FinishStop, "no-finish")
	ended("", protocol.FinishLength, "")
	ended("", protocol.FinishOther, "aborted")
	ended("", protocol.FinishOther, "agent-restarted")
	ended(broker.TaskFailed, protocol.FinishError, "")
	ended(broker.TaskFailed, protocol.FinishError, `{"reason":"aborted"} "finishReason":"stop"`)
	ended(broker.TaskFailed, protocol.FinishContentFilter, "")
	ended(broker.TaskFailed, protocol.FinishOther, "out of tokens")
	ended(broker.TaskFailed, protocol.FinishLength, "no-finish")
	for _, reason := range []string{"host-restarted", "host-lost", "agent-exited", "agent-stopped", "not-started"} {
		ended(broker.TaskFailed, protocol.FinishOther, reason)
		ended(broker.TaskFailed, protocol.FinishStop, reason)
	}
	s.inStates(ada, states)
}

// inStates checks which tasks of a user, by their titles, the lists of each state have.
func (s suite) inStates(userID string, states map[string]broker.TaskState) {
	s.Helper()
	archived := false
	for _, state := range []broker.TaskState{broker.TaskWaiting, broker.TaskWorking, broker.TaskFailed} {
		for _, filter := range []broker.TaskFilter{{Limit: 50}, {Limit: 50, Archived: &archived}, {Limit: 50, Q: "task"}} {
			filter.State = state
			found, err := s.store.Tasks(s.ctx, userID, filter)
			s.must(err)
			got, want := map[string]bool{}, map[string]bool{}
			for i := range found {
				got[found[i].Title] = true
			}
			for title, of := range states {
				if of == state {
					want[title] = true
				}
			}
			if !maps.Equal(got, want) {
				s.Errorf("%s %q: %v, want %v", state, filter.Q, got, want)
			}
		}
	}
}

// sent writes messages of a task in one batch, which makes consecutive ones a range of changes. Messages
// that it does not have yet are new; the others change.
func (s suite) sent(taskID string, seqs ...int64) {
	s.Helper()
	s.must(s.apply(taskID, func(b *broker.Batch) {
		known := b.Task.LastSeq
		for _, seq := range seqs {
			b.Task.Rev++
			m := broker.Message{Message: protocol.Message{
				ID: fmt.Sprintf("%s-%d", taskID, seq), TaskID: taskID, Seq: seq, Rev: b.Task.Rev, Role: protocol.RoleUser,
				Status: protocol.MessageSending, CreatedAt: now,
			}}
			if seq > known {
				b.Task.LastSeq = seq
				b.NewMessages = append(b.NewMessages, m)
			} else {
				b.ChangedMessages = append(b.ChangedMessages, m)
			}
			b.Changes = append(b.Changes, broker.ChangeRef{Rev: m.Rev, Kind: broker.ChangeMessage, Seq: seq})
		}
	}))
}

// The messages that changed since a rev are those that the whole task shows with a later rev, if the rev
// is inside a range of changes too.
func testSince(t *testing.T, s suite) {
	task := s.task(s.user())
	for _, batch := range [][]int64{
		{1, 2, 3}, {4}, {5, 6, 7, 8, 9}, {10, 11, 12}, // new
		{3}, {5, 6, 7, 8}, {9, 10, 2, 3}, {6}, // changed: one, a range, two ranges, one of a range again
	} {
		s.sent(task.ID, batch...)
	}
	all, err := s.store.Messages(s.ctx, task.ID, broker.MessageQuery{Limit: 100})
	s.must(err)
	head := all[5].Rev // of message 6, which changed last
	bounds := []*int64{nil}
	for _, at := range []int64{3, 7} {
		bounds = append(bounds, &at)
	}
	for since := int64(-1); since <= head+2; since++ {
		for _, after := range bounds {
			for _, before := range bounds {
				for _, limit := range []int{1, 3, 100} {
					q := broker.MessageQuery{Since: &since, After: after, Before: before, Limit: limit}
					got, err := s.store.Messages(s.ctx, task.ID, q)
					s.must(err)
					if want := selected(all, q); !slices.EqualFunc(got, want, sameRev) {
						t.Fatalf("since %d after %v before %v limit %d: %+v, want %+v", since, after, before, limit, got, want)
					}
				}
			}
		}
	}
}

func sameRev(a, b broker.Message) bool { return a.Seq == b.Seq && a.Rev == b.Rev }

// selected returns those of all messages that a query names.
func selected(all []broker.Message, q broker.MessageQuery) []broker.Message {
	var list []broker.Message
	for _, m := range all {
		if m.Rev > *q.Since && (q.After == nil || m.Seq > *q.After) && (q.Before == nil || m.Seq < *q.Before) {
			list = append(list, m)
		}
	}
	if extra := len(list) - q.Limit; extra > 0 && q.Before != nil && q.After == nil {
		return list[extra:]
	}
	return list[:min(len(list), q.Limit)]
}
