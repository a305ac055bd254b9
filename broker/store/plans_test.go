package store_test

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/plans"
	"bellhop/protocol"
)

// size is that of an installation after years in make test-long.
func size() plans.Size {
	if os.Getenv("BELLHOP_LONG") != "" {
		return plans.Size{Tasks: 100_000, Messages: 5, Key: store.WordKey(plans.Owner)}
	}
	return plans.Size{Tasks: 2000, Messages: 5, Key: store.WordKey(plans.Owner)}
}

// filled runs a test on copies of large databases of both kinds. open returns a copy, whose
// statements are watched.
func filled(
	t *testing.T, excuses map[string][]plans.Excuse, test func(t *testing.T, open func(testing.TB) *database.DB),
) {
	testenv.EachDatabase(t, func(t *testing.T, kind string) {
		url := storetest.URL(t, kind)
		db, err := database.Open(t.Context(), url, database.Options{Synchronous: "OFF"})
		must(t, err)
		plans.Fill(t, db, size())
		must(t, db.Close())
		watch := plans.New(excuses[kind]...)
		test(t, func(t testing.TB) *database.DB { return watch.Open(t, copyOf(t, url)) })
		watch.Check(t)
	})
}

// copyOf returns the URL of a copy of a database that is closed.
func copyOf(t testing.TB, url string) string {
	t.Helper()
	if strings.HasPrefix(url, "postgres") {
		return testenv.PostgresCopy(t, url)
	}
	return testenv.SQLiteCopy(t, url)
}

// near accepts that the newest tasks are searched by going through their texts. Their number is bounded, whatever
// the user has.
var near = map[string][]plans.Excuse{"postgres": {
	{Part: "SELECT no FROM tasks WHERE no = ANY($1::bigint[]) AND (tasks.words @@", Why: "at most 2,000 texts"},
}}

// The statements of the contract read no more of a large database than they return, and no whole table.
func TestTheContractReadsLittleOfALargeDatabase(t *testing.T) {
	t.Parallel()
	filled(t, near, func(t *testing.T, open func(testing.TB) *database.DB) {
		storetest.Run(t, func(t testing.TB) storetest.Store { return store.New(open(t), storetest.Sealer(t)) },
			"LastAdministrator", "Audit")
	})
}

// read is a call of a method of the store.
type read func(ctx context.Context, s storetest.Store) error

// listed reads a page of the large user's tasks.
func listed(f broker.TaskFilter) read {
	return func(ctx context.Context, s storetest.Store) error {
		f.Limit = 51
		found, err := s.Tasks(ctx, plans.Owner, f)
		if f.Q != "nothing" && err == nil && len(found) == 0 {
			err = fmt.Errorf("%+v finds no task", f)
		}
		return err
	}
}

// messagesOf reads a page of the large task's messages.
func messagesOf(q broker.MessageQuery) read {
	return func(ctx context.Context, s storetest.Store) error {
		q.Limit = 50
		_, err := s.Messages(ctx, plans.Large, q)
		return err
	}
}

// questions reads a page of the large user's questions.
func questions(state string) read {
	return func(ctx context.Context, s storetest.Store) error {
		_, err := s.Interactions(ctx, plans.Owner, state, 50)
		return err
	}
}

// readsOfLists returns reads of pages. Each begins with the name of its method.
func readsOfLists() map[string]read {
	at := time.Date(2026, 2, 1, 0, 20, 0, 0, time.UTC)
	yes, no, mid, head := true, false, int64(size().Tasks), int64(size().Tasks*size().Messages)
	behind := head - 20
	return map[string]read{
		"Tasks":                    listed(broker.TaskFilter{}),
		"Tasks: archived":          listed(broker.TaskFilter{Archived: &yes}),
		"Tasks: a page":            listed(broker.TaskFilter{Before: &broker.TaskPosition{At: at, ID: "task-9"}}),
		"Tasks: failed":            listed(broker.TaskFilter{Archived: &no, State: broker.TaskFailed}),
		"Tasks: a rare word":       listed(broker.TaskFilter{Q: "words 77"}),
		"Tasks: no such word":      listed(broker.TaskFilter{Q: "nothing"}),
		"Tasks: a frequent word":   listed(broker.TaskFilter{Q: "task"}),
		"Tasks: in most messages":  listed(broker.TaskFilter{Q: "other wor"}),
		"Messages":                 messagesOf(broker.MessageQuery{}),
		"Messages: before":         messagesOf(broker.MessageQuery{Before: &mid}),
		"Messages: after":          messagesOf(broker.MessageQuery{After: &mid}),
		"Messages: since the head": messagesOf(broker.MessageQuery{Since: &head}),
		"Messages: since":          messagesOf(broker.MessageQuery{Since: &behind}),
		"Hints": func(ctx context.Context, s storetest.Store) error {
			_, err := s.Hints(ctx, plans.Owner, 200)
			return err
		},
		"HintsSince": func(ctx context.Context, s storetest.Store) error {
			_, err := s.HintsSince(ctx, []string{plans.Owner, "other"}, at.Add(365*24*time.Hour))
			return err
		},
		"Interactions":           questions(""),
		"Interactions: open":     questions("open"),
		"Interactions: resolved": questions("resolved"),
		"DueTasks": func(ctx context.Context, s storetest.Store) error {
			_, _, err := s.DueTasks(ctx, true, broker.Overdue{Silent: at, Announced: at, Future: at}, "", 50)
			return err
		},
		"SilentTasks": func(ctx context.Context, s storetest.Store) error {
			_, _, err := s.SilentTasks(ctx, at, "", 50)
			return err
		},
		"TasksOfUser": func(ctx context.Context, s storetest.Store) error {
			_, err := s.TasksOfUser(ctx, plans.Owner, "task-1", 50)
			return err
		},
		"ArchivedTasks": func(ctx context.Context, s storetest.Store) error {
			_, err := s.ArchivedTasks(ctx, at.AddDate(1, 0, 0), mid, 50)
			return err
		},
		"AuditEntries": func(ctx context.Context, s storetest.Store) error {
			_, err := s.AuditEntries(ctx, broker.AuditFilter{Before: 1 << 50, Limit: 50})
			return err
		},
		"AuditEntries: of a task": func(ctx context.Context, s storetest.Store) error {
			_, err := s.AuditEntries(ctx, broker.AuditFilter{Before: 1 << 50, Subject: "task-7", Limit: 50})
			return err
		},
	}
}

// missing accepts that a row does not exist.
func missing(err error) error {
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return nil
	}
	return err
}

// readsOfTask returns reads of the task with the most messages.
func readsOfTask() map[string]read {
	mid := int64(size().Tasks)
	return map[string]read{
		"ChangeRefs": func(ctx context.Context, s storetest.Store) error {
			_, err := s.ChangeRefs(ctx, plans.Large, mid, 50)
			return err
		},
		"Interaction": func(ctx context.Context, s storetest.Store) error {
			_, err := s.Interaction(ctx, plans.Owner, "question-7")
			return err
		},
		"UnfinishedTasks": func(ctx context.Context, s storetest.Store) error {
			_, err := s.UnfinishedTasks(ctx, plans.Owner)
			return err
		},
		"TurnInteractions": func(ctx context.Context, s storetest.Store) error {
			_, err := s.TurnInteractions(ctx, plans.Large, []string{"turn-7"})
			return err
		},
		"OpenInteractions": func(ctx context.Context, s storetest.Store) error {
			_, err := s.OpenInteractions(ctx, plans.Large)
			return err
		},
		"TurnsIn": func(ctx context.Context, s storetest.Store) error {
			_, err := s.TurnsIn(ctx, plans.Large, broker.TurnOpen, broker.TurnAnnounced)
			return err
		},
		"RunningTools": func(ctx context.Context, s storetest.Store) error {
			_, err := s.RunningTools(ctx, plans.Large, "turn-7")
			return err
		},
		"LastAnswer": func(ctx context.Context, s storetest.Store) error {
			_, err := s.LastAnswer(ctx, plans.Large)
			return missing(err)
		},
		"Texts": func(ctx context.Context, s storetest.Store) error {
			_, err := s.Texts(ctx, plans.Large, mid, 50)
			return err
		},
		"PositionedEvents": func(ctx context.Context, s storetest.Store) error {
			_, err := s.PositionedEvents(ctx, plans.Large, protocol.Cursor{Epoch: 1, Seq: mid}, 50)
			return err
		},
		"KnownEvents": func(ctx context.Context, s storetest.Store) error {
			_, err := s.KnownEvents(ctx, plans.Large, []string{"event-7", "none"})
			return err
		},
	}
}

// readsOfMessages returns more reads of the task with the most messages.
func readsOfMessages() map[string]read {
	mid := int64(size().Tasks)
	return map[string]read{
		"Message": func(ctx context.Context, s storetest.Store) error {
			_, err := s.Message(ctx, plans.Large, "message-7")
			return missing(err) // it is not of the user
		},
		"ClosedTurns": func(ctx context.Context, s storetest.Store) error {
			_, err := s.ClosedTurns(ctx, plans.Large, "turn-7", 50)
			return err
		},
		"MessagesBySeq": func(ctx context.Context, s storetest.Store) error {
			_, err := s.MessagesBySeq(ctx, plans.Large, []int64{7, mid})
			return err
		},
		"ToolMessages": func(ctx context.Context, s storetest.Store) error {
			_, err := s.ToolMessages(ctx, plans.Large, []string{"call-7"})
			return err
		},
		"LastDiff": func(ctx context.Context, s storetest.Store) error {
			_, err := s.LastDiff(ctx, plans.Large)
			return missing(err)
		},
		"TurnMessage": func(ctx context.Context, s storetest.Store) error {
			_, err := s.TurnMessage(ctx, plans.Large, "turn-7")
			return missing(err)
		},
		"Turns": func(ctx context.Context, s storetest.Store) error {
			_, err := s.Turns(ctx, plans.Large, []string{"turn-7"})
			return err
		},
		"TaskInteractions": func(ctx context.Context, s storetest.Store) error {
			_, err := s.TaskInteractions(ctx, plans.Large, []string{"question-7"})
			return err
		},
		"Queued": func(ctx context.Context, s storetest.Store) error {
			_, err := s.Queued(ctx, plans.Large)
			return err
		},
		"Task": func(ctx context.Context, s storetest.Store) error {
			_, err := s.Task(ctx, plans.Owner, plans.Large)
			return err
		},
		"Cursors": func(ctx context.Context, s storetest.Store) error {
			_, err := s.Cursors(ctx, []string{plans.Large, "task-7"})
			return err
		},
		"Revs": func(ctx context.Context, s storetest.Store) error {
			_, err := s.Revs(ctx, []string{plans.Large, "task-7"})
			return err
		},
	}
}

// A user with all tasks, and the task with the most messages, cost no more than others.
func TestReadsOfALargeUserReadLittle(t *testing.T) {
	t.Parallel()
	filled(t, near, func(t *testing.T, open func(testing.TB) *database.DB) {
		s := store.New(open(t), storetest.Sealer(t))
		for _, reads := range []map[string]read{readsOfLists(), readsOfTask(), readsOfMessages()} {
			for name, read := range reads {
				t.Run(name, func(t *testing.T) { must(t, read(t.Context(), s)) })
			}
		}
	})
}

// elsewhere are the methods that return rows and that TestReadsOfALargeUserReadLittle does not call, by the
// reason. TestTheContractReadsLittleOfALargeDatabase watches them too.
var elsewhere = map[string]string{
	"one row by its key": "AnyTask LockTask Host User UserByEmail TokenByHash FindLogin Announcement SecondFactor " +
		"HostLife OpenableTask WebhookKeys WebhookSecret QueuedAttachments UseLink UpdateHost UpdateUser OpenForgeToken ShareByHash",
	"of no user or task, in pages":  "DueEnds DueQueues DueRevocations StuckMessages WithheldQueues Users DeletedUsers",
	"as few as an operator makes":   "Hosts HostCopies ActiveAnnouncements",
	"bounded when they are written": "StreamOrigins TaskPasswords ForgeTokens Shares Templates",
	"all that a user made":          "Tokens SignIns", // all are returned, which may be the whole table
}

// A new method that reads must be added to one of the lists.
func TestEveryMethodThatReadsIsWatched(t *testing.T) {
	t.Parallel()
	watched := map[string]bool{}
	for _, reads := range []map[string]read{readsOfLists(), readsOfTask(), readsOfMessages()} {
		for name := range reads {
			method, _, _ := strings.Cut(name, ":")
			watched[method] = true
		}
	}
	for _, methods := range elsewhere {
		for _, method := range strings.Fields(methods) {
			watched[method] = true
		}
	}
	store := reflect.TypeFor[storetest.Store]()
	for i := range store.NumMethod() {
		if m := store.Method(i); returnsRows(m.Type) && !watched[m.Name] {
			t.Errorf("%s reads rows, and no test calls it for a large user", m.Name)
		}
		delete(watched, store.Method(i).Name)
	}
	for method := range watched {
		t.Errorf("the store has no method %s", method)
	}
}

// returnsRows reports whether a method returns more than an error, a number, or whether something is true.
func returnsRows(method reflect.Type) bool {
	for i := range method.NumOut() {
		switch method.Out(i).Kind() {
		case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Struct, reflect.String:
			return true
		default:
		}
	}
	return false
}
