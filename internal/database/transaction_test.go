package database_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

var errOops = errors.New("oops")

func TestAWriteIsAllOrNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, c := range []struct {
			name string
			ctx  context.Context
			fn   func(ctx context.Context) error
			want error
			rows int64
		}{
			{"an error rolls back", t.Context(), func(context.Context) error { return errOops }, errOops, 0},
			{"a cancelled context rolls back", ctx, func(context.Context) error { cancel(); return nil }, context.Canceled, 0},
			{"a cancelled context never begins", ctx, func(context.Context) error { return nil }, context.Canceled, 0},
			{"nil commits", t.Context(), func(context.Context) error { return nil }, nil, 1},
		} {
			t.Run(c.name, func(t *testing.T) {
				err := db.Write(c.ctx, func(ctx context.Context) error {
					if err := insert(ctx, db, "a"); err != nil {
						return err
					}
					return c.fn(ctx)
				})
				if !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
				if n := count(t, db); n != c.rows {
					t.Errorf("%d rows, want %d", n, c.rows)
				}
			})
		}
	})
}

func TestAPanicRollsBackAndFreesTheConnection(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		func() {
			defer func() {
				if recover() != "boom" {
					t.Error("the panic was swallowed")
				}
			}()
			_ = db.Write(t.Context(), func(ctx context.Context) error {
				_ = insert(ctx, db, "a")
				panic("boom")
			})
		}()
		if err := db.Write(t.Context(), func(ctx context.Context) error { return insert(ctx, db, "b") }); err != nil {
			t.Fatal(err)
		}
		if n := count(t, db); n != 1 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestANestedWriteCommitsOrFailsWithTheOuterOne(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		err := db.Write(t.Context(), func(ctx context.Context) error {
			if err := insert(ctx, db, "a"); err != nil {
				return err
			}
			_ = db.Write(ctx, func(ctx context.Context) error {
				_ = insert(ctx, db, "b")
				return errOops
			})
			return nil // the error is ignored, but the outer Write must fail
		})
		if !errors.Is(err, errOops) || count(t, db) != 0 {
			t.Errorf("a failure inside: %v, %d rows", err, count(t, db))
		}
		err = db.Write(t.Context(), func(ctx context.Context) error {
			if err := db.Write(ctx, func(ctx context.Context) error { return insert(ctx, db, "a") }); err != nil {
				return err
			}
			return db.Read(ctx, func(ctx context.Context) error {
				var n note
				return db.Conn(ctx).Take(&n, "id = ?", "a").Error // sees the uncommitted row
			})
		})
		if err != nil || count(t, db) != 1 {
			t.Errorf("both well: %v, %d rows", err, count(t, db))
		}
	})
}

func TestReadHasOneViewAndCannotWrite(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		err := db.Read(t.Context(), func(ctx context.Context) error {
			var before, after []note
			if err := db.Conn(ctx).Find(&before).Error; err != nil {
				return err
			}
			if err := db.Write(t.Context(), func(ctx context.Context) error { return insert(ctx, db, "a") }); err != nil {
				return err
			}
			if err := db.Conn(ctx).Find(&after).Error; err != nil {
				return err
			}
			if len(before) != 0 || len(after) != 0 {
				t.Errorf("%d rows, then %d", len(before), len(after))
			}
			if err := db.Write(ctx, func(context.Context) error { return nil }); err == nil {
				t.Error("Write inside Read succeeded")
			}
			if err := insert(ctx, db, "b"); err == nil {
				t.Error("an insert inside Read succeeded")
			}
			return errOops // PostgreSQL has aborted the transaction
		})
		if !errors.Is(err, errOops) || count(t, db) != 1 {
			t.Errorf("%v, %d rows", err, count(t, db))
		}
	})
}

func TestSQLiteRefusesToWriteOutsideWrite(t *testing.T) {
	t.Parallel()
	db := withNotes(t, open(t, sqliteURL(t), database.Options{}))
	if err := insert(t.Context(), db, "a"); err == nil {
		t.Error("written on the reader pool")
	}
}

func TestAfterCommitRunsOnceAndOnlyAfterACommit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		var calls []string
		note := func(s string) func() { return func() { calls = append(calls, s) } }
		database.AfterCommit(t.Context(), note("no transaction: at once"))
		attempts := 0
		err := db.Write(t.Context(), func(ctx context.Context) error {
			attempts++
			database.AfterCommit(ctx, note(fmt.Sprintf("attempt %d", attempts)))
			if attempts == 1 {
				return &pgconn.PgError{Code: "40001"}
			}
			return db.Write(ctx, func(ctx context.Context) error {
				database.AfterCommit(ctx, func() { calls = append(calls, fmt.Sprintf("nested, with %d rows", count(t, db))) })
				return insert(ctx, db, "a")
			})
		})
		_ = db.Write(t.Context(), func(ctx context.Context) error {
			database.AfterCommit(ctx, note("rolled back"))
			return errOops
		})
		want := []string{"no transaction: at once", "attempt 2", "nested, with 1 rows"}
		if err != nil || !slices.Equal(calls, want) {
			t.Errorf("%v, %q", err, calls)
		}
	})
}

func TestAWriteGivesUpAfterThreeRetries(t *testing.T) {
	t.Parallel()
	db := open(t, sqliteURL(t), database.Options{})
	attempts := 0
	err := db.Write(t.Context(), func(context.Context) error {
		attempts++
		return database.Fault(&pgconn.PgError{Code: "40P01", Message: "deadlock detected"}, "task", 1)
	})
	var fault *protocol.Error
	if attempts != 4 || !errors.As(err, &fault) || fault.Code != protocol.CodeUnavailable || fault.RetryAfter != 1 {
		t.Errorf("%d attempts: %v", attempts, err)
	}
}

// Two transactions lock two rows in opposite order, which causes a deadlock.
func TestADeadlockIsRetried(t *testing.T) {
	t.Parallel()
	// PostgreSQL takes a second to find a deadlock; on a slow machine the default patience is over then.
	db := withNotes(t, open(t, testenv.Postgres(t, nil), database.Options{Patience: time.Minute}))
	if err := db.Write(t.Context(), func(ctx context.Context) error {
		return errors.Join(insert(ctx, db, "a"), insert(ctx, db, "b"))
	}); err != nil {
		t.Fatal(err)
	}
	var met sync.WaitGroup
	met.Add(2)
	cross := func(first, second string) error {
		var once sync.Once
		return db.Write(t.Context(), func(ctx context.Context) error {
			touch := func(id string) error {
				return database.Fault(db.Conn(ctx).Exec("UPDATE notes SET body = body || 'x' WHERE id = ?", id).Error, "note", id)
			}
			if err := touch(first); err != nil {
				return err
			}
			once.Do(func() { met.Done(); met.Wait() })
			return touch(second)
		})
	}
	var wg sync.WaitGroup
	var errs [2]error
	wg.Go(func() { errs[0] = cross("a", "b") })
	wg.Go(func() { errs[1] = cross("b", "a") })
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	var bodies []string
	if err := db.Conn(t.Context()).Model(&note{}).Pluck("body", &bodies).Error; err != nil ||
		!slices.Equal(bodies, []string{"bxx", "bxx"}) {
		t.Errorf("%v, %v", bodies, err)
	}
}

func TestConcurrentReadModifyWriteLosesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		if err := db.Write(t.Context(), func(ctx context.Context) error { return insert(ctx, db, "a") }); err != nil {
			t.Fatal(err)
		}
		const workers, rounds = 8, 10
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for range rounds {
					err := db.Write(t.Context(), func(ctx context.Context) error {
						var n note
						query := "SELECT * FROM notes WHERE id = 'a'"
						if db.Dialect() == database.Postgres {
							query += " FOR UPDATE"
						}
						if err := db.Conn(ctx).Raw(query).Scan(&n).Error; err != nil {
							return err
						}
						n.Body += "x"
						return db.Conn(ctx).Save(&n).Error
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		var n note
		if err := db.Conn(t.Context()).Take(&n).Error; err != nil || len(n.Body) != 1+workers*rounds {
			t.Errorf("%d of %d, %v", len(n.Body)-1, workers*rounds, err)
		}
	})
}

func TestAWriterThatCannotBeginInTimeFails(t *testing.T) {
	t.Parallel()
	db := open(t, sqliteURL(t), database.Options{Patience: time.Second})
	err := db.Write(t.Context(), func(context.Context) error {
		// Without this transaction's context, the call waits for the only
		// connection.
		return db.Write(t.Context(), func(context.Context) error { return nil })
	})
	if protocol.CodeOf(err) != protocol.CodeUnavailable {
		t.Errorf("got %v", err)
	}
}
