package store_test

import (
	"context"
	"fmt"
	"os"
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
		return plans.Size{Tasks: 100_000, Messages: 10, Key: store.WordKey(plans.Owner)}
	}
	return plans.Size{Tasks: 2000, Messages: 5, Key: store.WordKey(plans.Owner)}
}

// filled runs a test on copies of large databases of both kinds. open returns a copy, whose
// statements are watched.
func filled(t *testing.T, excuses map[string][]plans.Excuse, test func(t *testing.T, open func(testing.TB) *database.DB)) {
	for name, url := range map[string]string{"sqlite": storetest.SQLiteURL(t), "postgres": storetest.PostgresURL(t)} {
		t.Run(name, func(t *testing.T) {
			db, err := database.Open(t.Context(), url, database.Options{Synchronous: "OFF"})
			must(t, err)
			plans.Fill(t, db, size())
			must(t, db.Close())
			watch := plans.New(excuses[name]...)
			test(t, func(t testing.TB) *database.DB { return watch.Open(t, copyOf(t, url)) })
			watch.Check(t)
		})
	}
}

// copyOf returns the URL of a copy of a database that is closed.
func copyOf(t testing.TB, url string) string {
	t.Helper()
	if strings.HasPrefix(url, "postgres") {
		return testenv.PostgresCopy(t, url)
	}
	return testenv.SQLiteCopy(t, url)
}

// The statements of the contract read no more of a large database than they return, and no whole table.
func TestTheContractReadsLittleOfALargeDatabase(t *testing.T) {
	filled(t, nil, func(t *testing.T, open func(testing.TB) *database.DB) {
		storetest.Run(t, func(t testing.TB) storetest.Store { return store.New(open(t), storetest.Sealer(t)) },
			"LastAdministrator", "Audit")
	})
}

// A user with all tasks, and the task with the most messages, cost no more than others. A method that
// reads must be called here, so that a new one is not forgotten.
func TestReadsOfALargeUserReadLittle(t *testing.T) {
	at := time.Date(2026, 2, 1, 0, 20, 0, 0, time.UTC)
	yes, mid, head := true, int64(size().Tasks), int64(size().Tasks*size().Messages)
	list := func(f broker.TaskFilter) func(context.Context, storetest.Store) error {
		return func(ctx context.Context, s storetest.Store) error {
			f.Limit = 51
			found, err := s.Tasks(ctx, plans.Owner, f)
			if f.Q != "nothing" && err == nil && len(found) == 0 {
				err = fmt.Errorf("%+v finds no task", f)
			}
			return err
		}
	}
	messages := func(q broker.MessageQuery) func(context.Context, storetest.Store) error {
		return func(ctx context.Context, s storetest.Store) error {
			q.Limit = 50
			_, err := s.Messages(ctx, plans.Large, q)
			return err
		}
	}
	behind := head - 20
	reads := map[string]func(context.Context, storetest.Store) error{
		"Tasks":                    list(broker.TaskFilter{}),
		"Tasks: archived":          list(broker.TaskFilter{Archived: &yes}),
		"Tasks: a page":            list(broker.TaskFilter{Before: &broker.TaskPosition{At: at, ID: "task-9"}}),
		"Tasks: a rare word":       list(broker.TaskFilter{Q: "words 77"}),
		"Tasks: no such word":      list(broker.TaskFilter{Q: "nothing"}),
		"Tasks: a frequent word":   list(broker.TaskFilter{Q: "task"}),
		"Tasks: in most messages":  list(broker.TaskFilter{Q: "other wor"}),
		"Messages":                 messages(broker.MessageQuery{}),
		"Messages: before":         messages(broker.MessageQuery{Before: &mid}),
		"Messages: after":          messages(broker.MessageQuery{After: &mid}),
		"Messages: since the head": messages(broker.MessageQuery{Since: &head}),
		"Messages: since":          messages(broker.MessageQuery{Since: &behind}),
		"Hints": func(ctx context.Context, s storetest.Store) error {
			_, err := s.Hints(ctx, plans.Owner, 200)
			return err
		},
		"HintsSince": func(ctx context.Context, s storetest.Store) error {
			_, err := s.HintsSince(ctx, []string{plans.Owner, "other"}, at.Add(365*24*time.Hour))
			return err
		},
		"Interactions": func(ctx context.Context, s storetest.Store) error {
			_, err := s.Interactions(ctx, plans.Owner, "open", 50)
			return err
		},
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
		"Texts": func(ctx context.Context, s storetest.Store) error {
			_, err := s.Texts(ctx, plans.Large, mid, 50)
			return err
		},
		"PositionedEvents": func(ctx context.Context, s storetest.Store) error {
			_, err := s.PositionedEvents(ctx, plans.Large, protocol.Cursor{Epoch: 1, Seq: mid}, 50)
			return err
		},
		"AuditEntries": func(ctx context.Context, s storetest.Store) error {
			_, err := s.AuditEntries(ctx, broker.AuditFilter{Before: 1 << 50, Limit: 50})
			return err
		},
		"AuditEntries: of a user": func(ctx context.Context, s storetest.Store) error {
			_, err := s.AuditEntries(ctx, broker.AuditFilter{Before: 1 << 50, Subject: "task-7", Limit: 50})
			return err
		},
	}
	filled(t, nil, func(t *testing.T, open func(testing.TB) *database.DB) {
		s := store.New(open(t), storetest.Sealer(t))
		for name, read := range reads {
			t.Run(name, func(t *testing.T) { must(t, read(t.Context(), s)) })
		}
	})
}
