package table_test

import (
	"database/sql"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver"
	"go.uber.org/goleak"

	"bellhop/internal/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type kind string

type note struct {
	ID      string
	Kind    kind
	Parent  string
	Size    int
	Done    bool
	Body    json.RawMessage
	Usage   json.RawMessage
	Sum     []byte
	Created time.Time
	Ended   *time.Time
	Labels  []string
	Extra   *map[string]string
}

var notes = table.New("notes",
	table.Text("id", func(n *note) *string { return &n.ID }).Key(),
	table.Text("kind", func(n *note) *kind { return &n.Kind }).Fixed(),
	table.OptionalText("parent", func(n *note) *string { return &n.Parent }),
	table.Integer("size", func(n *note) *int { return &n.Size }),
	table.Bool("done", func(n *note) *bool { return &n.Done }),
	table.TextBytes("body", func(n *note) *json.RawMessage { return &n.Body }),
	table.OptionalTextBytes("usage", func(n *note) *json.RawMessage { return &n.Usage }),
	table.Bytes("sum", func(n *note) *[]byte { return &n.Sum }),
	table.Time("created", func(n *note) *time.Time { return &n.Created }),
	table.OptionalTime("ended", func(n *note) **time.Time { return &n.Ended }),
	table.JSONList("labels", "[]", func(n *note) *[]string { return &n.Labels }),
	table.JSONPointer("extra", nil, func(n *note) **map[string]string { return &n.Extra }),
)

func TestStatements(t *testing.T) {
	t.Parallel()
	pair := table.New("pairs", notes.Pick("id", "kind", "size")...)
	n := note{ID: "a", Kind: "k", Size: 3}
	for name, c := range map[string]struct {
		got  table.Statement
		sql  string
		args []any
	}{
		"insert": {pair.Insert(n), "INSERT INTO pairs (id, kind, size) VALUES ( ?,?,?)", []any{"a", "k", int64(3)}},
		"two rows": {
			pair.Insert(n, n), "INSERT INTO pairs (id, kind, size) VALUES ( ?,?,?),( ?,?,?)",
			[]any{"a", "k", int64(3), "a", "k", int64(3)},
		},
		"no rows": {pair.Insert(), "", nil},
		"upsert":  {pair.Upsert(n), pair.UpsertOne(), []any{"a", "k", int64(3)}},
		"upsert one": {
			table.Statement{SQL: pair.UpsertOne()}, pair.InsertOne() + " ON CONFLICT (id) DO UPDATE SET size = excluded.size", nil,
		},
		"update": {pair.Update(&n), "UPDATE pairs SET size = ? WHERE id = ?", []any{int64(3), "a"}},
		"select": {
			table.Statement{SQL: pair.Select("WHERE id = ?")}, "SELECT id, kind, size FROM pairs WHERE id = ?", nil,
		},
		"qualified": {table.Statement{SQL: table.Names("", pair.Qualified())}, "pairs.id, pairs.kind, pairs.size", nil},
		"parameters": {
			table.Statement{SQL: table.Parameters(4, pair.Columns)}, "$4::text, $5::text, $6::bigint", nil,
		},
		"unnest": {
			table.Statement{SQL: table.Unnest("r", 4, pair.Columns)},
			"unnest($4::text[], $5::text[], $6::bigint[]) AS r (id, kind, size)", nil,
		},
	} {
		if c.got.SQL != c.sql || !reflect.DeepEqual(c.got.Args, c.args) {
			t.Errorf("%s: %+v", name, c.got)
		}
	}
}

func TestRowsComeBackAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	db := open(t)
	at := time.Date(2026, 3, 4, 5, 6, 7, 891_000, time.UTC)
	ended := at.Add(time.Hour)
	full := note{
		ID: "full", Kind: "k", Parent: "p", Size: 1 << 40, Done: true, Body: json.RawMessage(`"<&>"`),
		Usage: json.RawMessage(`{}`), Sum: []byte{0, 255}, Created: at, Ended: &ended,
		Labels: []string{"<&>"}, Extra: &map[string]string{"a": "b"},
	}
	empty := note{ID: "empty", Body: json.RawMessage{}, Created: at, Labels: []string{}}
	local := empty
	local.Created = at.In(time.FixedZone("", 3600))
	for _, n := range []note{full, local} {
		st := notes.Insert(n)
		if _, err := db.ExecContext(t.Context(), st.SQL, st.Args...); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := db.QueryContext(t.Context(), notes.Select("WHERE size >= ? ORDER BY id DESC"), 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := notes.Read(rows)
	if want := []note{full, empty}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v\n%+v", err, got, want)
	}
}

func TestFailuresNameTheColumn(t *testing.T) {
	t.Parallel()
	db := open(t)
	broken := table.New("notes", table.JSON("labels", func(n *note) *json.RawMessage { return &n.Body }))
	st := broken.Insert(note{Body: json.RawMessage("{")})
	if _, err := db.ExecContext(t.Context(), st.SQL, st.Args...); err == nil ||
		!strings.Contains(err.Error(), "unexpected end of JSON") {
		t.Errorf("%v", err)
	}
	rows, err := db.QueryContext(t.Context(), "SELECT 'no time' AS created")
	if err != nil {
		t.Fatal(err)
	}
	created := table.New("notes", notes.Pick("created")...)
	if _, err := created.Read(rows); err == nil || !strings.Contains(err.Error(), `name "created": string is not a time`) {
		t.Errorf("%v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a column that does not exist was picked")
		}
	}()
	notes.Pick("colour")
}

func open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+t.TempDir()+"/notes.db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	_, err = db.ExecContext(t.Context(), `CREATE TABLE notes (id text, kind text, parent text, size integer, done boolean, body text,
		usage text, sum blob, created timestamp, ended timestamp, labels text, extra text)`)
	if err != nil {
		t.Fatal(err)
	}
	return db
}
