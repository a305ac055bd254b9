package database_test

import (
	"context"
	"fmt"
	"testing"

	"bellhop/internal/database"
	"bellhop/internal/observe"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

func fillNotes(t *testing.T, db *database.DB, n int) {
	t.Helper()
	_, err := db.Exec(t.Context(), "notes", "", `INSERT INTO notes (id, body, at)
		WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < `+fmt.Sprint(n)+`)
		SELECT 'n' || (100000 + n), CASE WHEN n % 10 = 0 THEN 'keep' ELSE 'b' END, '2026-03-04 05:06:07+00:00' FROM s`)
	testenv.Must(t, err)
}

func TestChunksDeleteWhatTheyName(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		fillNotes(t, db, 1200)
		chunks := database.Chunks{Table: "notes", Key: "id", Where: "body = ?", Args: []any{"b"}, Rows: 100}
		n, err := db.DeleteChunks(t.Context(), "notes", "", chunks)
		if n != 1080 || err != nil || count(t, db) != 120 {
			t.Errorf("%d deleted, %d left, %v", n, count(t, db), err)
		}
		if n, err := db.DeleteChunks(t.Context(), "notes", "", chunks); n != 0 || err != nil {
			t.Errorf("again: %d, %v", n, err)
		}
		chunks.Table = "nowhere"
		if _, err := db.DeleteChunks(t.Context(), "notes", "", chunks); err == nil {
			t.Error("a table that does not exist was emptied")
		}
	})
}

// refuseLarge lets every DELETE of more than most rows end as if it had reached the limit of time.
func refuseLarge(t *testing.T, db *database.DB, most int) {
	t.Helper()
	testenv.Must(t, db.Write(t.Context(), func(ctx context.Context) error {
		for _, sql := range []string{
			fmt.Sprintf(`CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				IF (SELECT count(*) FROM gone) > %d THEN RAISE EXCEPTION 'too slow' USING ERRCODE = '57014'; END IF;
				RETURN NULL; END $$`, most),
			`DROP TRIGGER IF EXISTS refuse ON notes`,
			`CREATE TRIGGER refuse AFTER DELETE ON notes REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION refuse()`,
		} {
			if err := db.Conn(ctx).Exec(sql).Error; err != nil {
				return err
			}
		}
		return nil
	}))
}

func TestChunksThatAreTooLargeBecomeSmaller(t *testing.T) {
	t.Parallel()
	db := withNotes(t, open(t, testenv.Postgres(t, nil), database.Options{}))
	fillNotes(t, db, 2000)
	refuseLarge(t, db, 5)
	chunks := database.Chunks{Table: "notes", Key: "id", Where: "body <> ?", Args: []any{"none"}, Rows: 1000}
	if n, err := db.DeleteChunks(t.Context(), "notes", "", chunks); n != 0 ||
		protocol.CodeOf(err) != protocol.CodeUnavailable {
		t.Errorf("%d deleted, %v", n, err)
	}
	refuseLarge(t, db, 150)
	if n, err := db.DeleteChunks(t.Context(), "notes", "", chunks); n != 2000 || err != nil {
		t.Errorf("%d deleted, %v", n, err)
	}
}

// refuseNote makes each DELETE of one row fail.
func refuseNote(t *testing.T, db *database.DB, id string) (allow func()) {
	t.Helper()
	on := ""
	if db.Dialect() == database.SQLite {
		run(t, db,
			`CREATE TRIGGER refuse_one BEFORE DELETE ON notes WHEN old.id = '`+id+`' BEGIN SELECT RAISE(ABORT, 'no'); END`)
	} else {
		on = " ON notes"
		run(t, db,
			`CREATE OR REPLACE FUNCTION refuse_one() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$`)
		run(t, db,
			`CREATE TRIGGER refuse_one BEFORE DELETE ON notes FOR EACH ROW WHEN (old.id = '`+id+
				`') EXECUTE FUNCTION refuse_one()`)
	}
	return func() { run(t, db, `DROP TRIGGER refuse_one`+on) }
}

func run(t *testing.T, db *database.DB, sql string) {
	t.Helper()
	_, err := db.Exec(t.Context(), "notes", "", sql)
	testenv.Must(t, err)
}

func TestAChunkThatCannotBeDeletedKeepsNoOther(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		fillNotes(t, db, 1200)
		allow := refuseNote(t, db, "n100433")
		chunks := database.Chunks{Table: "notes", Key: "id", Where: "id > ?", Args: []any{""}, Rows: 400}
		var progress int64
		ctx := observe.WithProgress(t.Context(), func(rows int64) { progress += rows })
		n, err := db.DeleteChunks(ctx, "notes", "", chunks)
		if err == nil || n != 1150 || progress != n || count(t, db) != 50 {
			t.Errorf("%d deleted, %d reported, %d left, %v", n, progress, count(t, db), err)
		}
		allow()
		if n, err := db.DeleteChunks(ctx, "notes", "", chunks); n != 50 || err != nil {
			t.Errorf("the next time: %d deleted, %v", n, err)
		}
	})
}

func TestRowsInOrderEndAtTheFirstChunkThatCannotBeDeleted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		fillNotes(t, db, 1200)
		refuseNote(t, db, "n100433")
		n, err := db.DeleteChunks(t.Context(), "notes", "", database.Chunks{
			Table: "notes", Key: "id", Where: "id > ?", Args: []any{""}, Rows: 400, InOrder: true,
		})
		if err == nil || n != 400 {
			t.Errorf("%d deleted, %v", n, err)
		}
	})
}

// A row that another transaction holds is left for the next time, and the other rows are deleted. A
// request's budget does not end it.
func TestALockedRowIsLeftOut(t *testing.T) {
	t.Parallel()
	db := withNotes(t, open(t, testenv.Postgres(t, nil), database.Options{}))
	fillNotes(t, db, 300)
	chunks := database.Chunks{Table: "notes", Key: "id", Where: "id > ?", Args: []any{""}, Rows: 50}
	testenv.Must(t, db.Write(t.Context(), func(ctx context.Context) error {
		if err := db.Conn(ctx).Exec(`SELECT * FROM notes WHERE id = 'n100120' FOR UPDATE`).Error; err != nil {
			return err
		}
		n, err := db.DeleteChunks(database.WithBudget(t.Context(), 1), "notes", "", chunks)
		if n != 250 || protocol.CodeOf(err) != protocol.CodeUnavailable {
			t.Errorf("%d deleted, %v", n, err)
		}
		return nil
	}))
	if n, err := db.DeleteChunks(t.Context(), "notes", "", chunks); n != 50 || err != nil {
		t.Errorf("the next time: %d deleted, %v", n, err)
	}
}
