package database_test

import (
	"context"
	"fmt"
	"testing"

	"bellhop/internal/database"
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
