package store_test

import (
	"testing"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/plans"
)

// Rows of an archive have no words. They are added in steps.
func TestRowsWithoutWordsAreFoundLater(t *testing.T) {
	t.Parallel()
	testenv.EachDatabase(t, func(t *testing.T, kind string) {
		db := storetest.OpenDB(t, storetest.URL(t, kind))
		plans.Fill(t, db, plans.Size{Tasks: 150, Messages: 2})
		_, err := db.Exec(t.Context(), "words", "", `UPDATE log SET words = NULL`)
		must(t, err)
		_, err = db.Exec(t.Context(), "words", "", `UPDATE tasks SET words = NULL`)
		must(t, err)
		s := store.New(db, nil)
		want := func(q string, n int) {
			t.Helper()
			found, err := s.Tasks(t.Context(), plans.Owner, broker.TaskFilter{Q: q, Limit: 500})
			if err != nil || len(found) != n {
				t.Errorf("%q finds %d tasks, %v; want %d", q, len(found), err, n)
			}
		}
		want("the", 0)
		steps := 0
		for more := true; more; steps++ {
			more, err = s.IndexStep(t.Context())
			must(t, err)
		}
		if steps < 3 {
			t.Errorf("%d steps for 600 messages", steps)
		}
		want("the", 1) // the large task
		want("task", 150)
		want("words 150", 2) // of the large task, and of another
	})
}

// A search finds the same when it stops reading the index early.
func TestSearchesOfVeryManyTextsFindTheSame(t *testing.T) { //nolint:paralleltest // the limits are of the process
	t.Cleanup(store.LimitSearch())
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		storetest.Searches(t, func(t testing.TB) storetest.Store { return open(t) })
	})
}
