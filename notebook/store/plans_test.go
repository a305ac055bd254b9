package store_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/plans"
	"bellhop/internal/testenv/schema"
	"bellhop/notebook"
	"bellhop/notebook/store"
	"bellhop/notebook/store/storetest"
)

// filled runs a test on copies of large databases of both kinds. open returns a copy, whose statements are watched.
func filled(t *testing.T, test func(t *testing.T, open func(testing.TB) *storetest.Books)) {
	testenv.EachDatabase(t, func(t *testing.T, kind string) {
		url := schema.New(t, kind)
		db, err := database.Open(t.Context(), url, database.Options{Synchronous: "OFF"})
		must(t, err)
		plans.Fill(t, db, plans.Size{Tasks: 2000, Messages: 1})
		for _, sql := range spread {
			_, err := db.Exec(t.Context(), "Rows", "", sql)
			must(t, err)
		}
		if kind == "postgres" {
			_, err := db.Exec(t.Context(), "Statistics", "", "ANALYZE")
			must(t, err)
		}
		must(t, db.Close())
		copied := testenv.SQLiteCopy
		if kind == "postgres" {
			copied = testenv.PostgresCopy
		}
		watch := plans.New()
		test(t, func(t testing.TB) *storetest.Books {
			db := watch.Open(t, copied(t, url))
			return &storetest.Books{Store: store.New(db), DB: db}
		})
		watch.Check(t)
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Of the rows of Fill, the user keeps as many as a user may have, and the source as many as a source may have. The
// others are other users' and other sources'.
var spread = []string{
	`INSERT INTO users (id, email, password_hash, admin, created_at)
		SELECT 'others', 'others', '', FALSE, created_at FROM users`,
	`UPDATE agent_sessions SET user_id = 'others' WHERE CAST(substr(id, 12) AS integer) > 100`,
	`UPDATE notebooks SET user_id = 'others' WHERE CAST(substr(id, 10) AS integer) > 100`,
	`UPDATE sources SET user_id = 'others', notebook_id = 'notebook-' || substr(id, 8),
		agent_session_id = 'connection-' || substr(id, 8) WHERE CAST(substr(id, 8) AS integer) > 100`,
	`UPDATE source_versions SET source_id = 'source-' || version WHERE version > 100`,
	`UPDATE source_messages SET source_id = 'source-' || seq WHERE seq > 100`,
}

// read returns the number of rows that a method of the store returns.
type read func(ctx context.Context, s notebook.Store) (rows int, err error)

// reads are of the user, the connection and the source with the most rows. Lists are bounded when their rows are
// written, so each returns all of its rows.
var reads = map[string]read{
	"Sessions": func(ctx context.Context, s notebook.Store) (int, error) {
		found, err := s.Sessions(ctx, plans.Owner, "")
		return len(found), err
	},
	"ChangedSessions": func(ctx context.Context, s notebook.Store) (int, error) {
		found, err := s.ChangedSessions(ctx, []string{plans.Owner, "other"}, time.Date(2026, 2, 1, 0, 1, 0, 0, time.UTC))
		return len(found), err
	},
	"Notebooks": func(ctx context.Context, s notebook.Store) (int, error) {
		found, err := s.Notebooks(ctx, plans.Owner)
		return len(found), err
	},
	"Sources: of a notebook": func(ctx context.Context, s notebook.Store) (int, error) {
		found, err := s.Sources(ctx, plans.Owner, notebook.SourceFilter{NotebookID: "notebook-8"})
		return len(found), err
	},
	"Sources: of a connection": func(ctx context.Context, s notebook.Store) (int, error) {
		found, err := s.Sources(ctx, plans.Owner, notebook.SourceFilter{SessionID: plans.Session})
		return len(found), err
	},
	"Versions": func(ctx context.Context, s notebook.Store) (int, error) {
		found, err := s.Versions(ctx, plans.Source, 1<<20)
		return len(found), err
	},
	"Newest": func(ctx context.Context, s notebook.Store) (int, error) {
		found, err := s.Newest(ctx, []notebook.Source{{ID: plans.Source, Version: 7}}, 1<<20)
		return len(found), err
	},
	"Messages": func(ctx context.Context, s notebook.Store) (int, error) {
		found, err := s.Messages(ctx, plans.Source, 0, 50, 1<<20)
		return len(found), err
	},
	"Subjects": func(ctx context.Context, s notebook.Store) (int, error) {
		found, err := s.Subjects(ctx, plans.Owner, []string{"said-7"})
		return len(found), err
	},
	"OpenFollowups": func(ctx context.Context, s notebook.Store) (int, error) {
		found, err := s.OpenFollowups(ctx, plans.Session, 50)
		return len(found) + 1, err // none is open
	},
	"Exchanges": func(ctx context.Context, s notebook.Store) (int, error) {
		found, err := s.Exchanges(ctx, []string{plans.Source}, 50)
		return len(found) + 1, err // none is open
	},
	"Unread": func(ctx context.Context, s notebook.Store) (int, error) {
		found, err := s.Unread(ctx, plans.Owner)
		return len(found) + 1, err // all are read
	},
	"Unverified": func(ctx context.Context, s notebook.Store) (int, error) {
		found, err := s.Unverified(ctx, 50)
		return len(found) + 1, err // all are verified
	},
}

// The reads of a user with the most notebooks and sources read about the rows that they return.
func TestReadsOfALargeUserReadLittle(t *testing.T) {
	t.Parallel()
	filled(t, func(t *testing.T, open func(testing.TB) *storetest.Books) {
		books := open(t)
		for name, read := range reads {
			t.Run(name, func(t *testing.T) {
				if rows, err := read(t.Context(), books); err != nil || rows == 0 {
					t.Errorf("%d rows, %v", rows, err)
				}
			})
		}
	})
}

// A new method that returns a list must be added to the reads.
func TestEveryListIsWatched(t *testing.T) {
	t.Parallel()
	watched := map[string]bool{}
	for name := range reads {
		method, _, _ := strings.Cut(name, ":")
		watched[method] = true
	}
	all := reflect.TypeFor[notebook.Store]()
	for i := range all.NumMethod() {
		m := all.Method(i)
		for out := range m.Type.NumOut() {
			if kind := m.Type.Out(out).Kind(); (kind == reflect.Slice || kind == reflect.Map) && !watched[m.Name] {
				t.Errorf("%s returns a list, and no test calls it for a large user", m.Name)
			}
		}
	}
}
