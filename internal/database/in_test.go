package database_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"bellhop/internal/database"
	"bellhop/internal/testenv"
)

// A list of any length is one parameter.
func TestAListIsOneParameter(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, db *database.DB) {
		odd := `a "quoted", {bracketed} \ text, ` + "\u00e9 ?"
		testenv.Must(t, db.Write(t.Context(), func(ctx context.Context) error {
			return errors.Join(insert(ctx, db, "a"), insert(ctx, db, "b"), insert(ctx, db, odd))
		}))
		for _, c := range []struct {
			values []string
			want   int
		}{{nil, 0}, {[]string{}, 0}, {[]string{"a"}, 1}, {[]string{"a", "none", odd, "a"}, 2}, {[]string{"NULL", ""}, 0}} {
			var in, notIn []string
			sql := "SELECT id FROM notes WHERE " + db.In("id")
			testenv.Must(t, db.Conn(t.Context()).Raw(sql, db.Texts(c.values)).Scan(&in).Error)
			sql = "SELECT id FROM notes WHERE NOT " + db.In("id")
			testenv.Must(t, db.Conn(t.Context()).Raw(sql, db.Texts(c.values)).Scan(&notIn).Error)
			if len(in) != c.want || len(notIn) != 3-c.want {
				t.Errorf("%q: %q and %q", c.values, in, notIn)
			}
		}
		rows, err := db.Exec(t.Context(), "notes", "", "DELETE FROM notes WHERE "+db.In("id"), db.Texts([]string{odd, "a"}))
		if got := fmt.Sprint(rows, err, count(t, db)); got != "2 <nil> 1" {
			t.Error(got)
		}
	}
	each(t, check)
	_, pooled := unusualPostgres(t)
	t.Run("pooled", func(t *testing.T) {
		check(t, withNotes(t, open(t, pooled, database.Options{Pooler: database.PoolerTransaction})))
	})
}
