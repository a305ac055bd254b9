package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/internal/testenv"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func opened(t *testing.T, config Config) *Store {
	t.Helper()
	s, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// begin stores a session with lines.
func begin(t *testing.T, s *Store, id string, lines ...string) {
	t.Helper()
	testenv.Must(t, s.Begin(t.Context(), Session{ID: id, Model: "demo", TokenHash: []byte(id), CreatedAt: noon}))
	raw := make([][]byte, len(lines))
	for i, line := range lines {
		raw[i] = []byte(line)
	}
	testenv.Must(t, s.Append(t.Context(), id, 0, raw))
}

func ids(t *testing.T, s *Store, before string, limit int) string {
	t.Helper()
	list, err := s.Ended(t.Context(), before, limit)
	testenv.Must(t, err)
	var all []string
	for _, one := range list {
		all = append(all, one.ID)
	}
	return strings.Join(all, " ")
}

func linesOf(t *testing.T, s *Store, id string) string {
	t.Helper()
	lines, err := s.Lines(t.Context(), id)
	testenv.Must(t, err)
	return strings.TrimSuffix(strings.Join(strings.Fields(fmt.Sprintf("%s", lines)), " "), "]")
}

func TestLinesAreReadAfterAReopen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "data")
	s, err := Open(t.Context(), Config{Dir: dir, Now: func() time.Time { return noon }})
	testenv.Must(t, err)
	begin(t, s, "a", `{"type":"input"}`, `{"n":1}`)
	testenv.Must(t, s.Append(t.Context(), "a", 1, [][]byte{[]byte(`{"n":"repeated"}`), []byte(`{"n":2}`)}))
	testenv.Must(t, s.End(t.Context(), "a", EndIdle))
	testenv.Must(t, s.End(t.Context(), "a", EndStopped)) // the first end counts
	testenv.Must(t, s.Close())
	s = opened(t, Config{Dir: dir})
	if got := linesOf(t, s, "a"); got != `[{"type":"input"} {"n":1} {"n":2}` {
		t.Errorf("lines %s", got)
	}
	one, err := s.Find(t.Context(), "a")
	testenv.Must(t, err)
	if one.Model != "demo" || string(one.TokenHash) != "a" || !one.CreatedAt.Equal(noon) || !one.EndedAt.Equal(noon) ||
		one.EndReason != EndIdle {
		t.Errorf("session %+v", one)
	}
	for path, want := range map[string]os.FileMode{
		".": 0o700, "history.db": 0o600, "history.lock": 0o600, "history.db-wal": 0o600,
	} {
		if info, err := os.Stat(filepath.Join(dir, path)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v", path, info, err)
		}
	}
	testenv.Must(t, s.Delete(t.Context(), "a"))
	if got := linesOf(t, s, "a"); got != "[" {
		t.Errorf("after its deletion: %s", got)
	}
	for what, err := range map[string]error{
		"a second deletion": s.Delete(t.Context(), "a"),
		"a line after it":   s.Append(t.Context(), "a", 3, [][]byte{[]byte(`{}`)}),
		"reading":           second(s.Find(t.Context(), "a")),
	} {
		if protocol.CodeOf(err) != protocol.CodeNotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
	if s.size.Load() != 0 {
		t.Errorf("an empty history counts %d bytes", s.size.Load())
	}
}

func second[T any](_ T, err error) error { return err }

func TestSessionsOfADeadProcessAreEndedWithTheirTurns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), Config{Dir: dir})
	testenv.Must(t, err)
	const end = `{"type":"state","state":"waiting_for_input","reason":"done"}`
	begin(t, s, "busy", `{"type":"input"}`, end, `{"type":"input"}`, `{"type":"state","state":"thinking"}`)
	begin(t, s, "idle", `{"type":"input"}`, end)
	begin(t, s, "empty")
	testenv.Must(t, s.Close())
	s = opened(t, Config{Dir: dir, Now: func() time.Time { return noon }})
	if got := ids(t, s, "", 10); got != "idle busy" {
		t.Errorf("ended are %q", got)
	}
	want := `[{"type":"input"} ` + end + ` {"type":"input"} {"type":"state","state":"thinking"}` +
		` {"type":"status","session_id":"busy","timestamp":1767355200000,"level":"error","message":"The server was killed during this turn"}` +
		` {"type":"state","session_id":"busy","timestamp":1767355200000,"state":"waiting_for_input","reason":"interrupted"}`
	if got := linesOf(t, s, "busy"); got != want {
		t.Errorf("lines %s\nwant  %s", got, want)
	}
	if got := linesOf(t, s, "idle"); got != `[{"type":"input"} `+end {
		t.Errorf("lines of a session without an open turn: %s", got)
	}
	if one, err := s.Find(t.Context(), "busy"); err != nil || one.EndReason != EndCrashed {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err := s.Find(t.Context(), "empty"); protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("a session without a line: %v", err)
	}
}

func TestAClockInTheFutureDeletesNoHistory(t *testing.T) {
	t.Parallel()
	clock, held := testenv.NewClock(noon), testenv.NewClock(noon)
	s := opened(t, Config{Dir: t.TempDir(), Retention: time.Hour, Now: clock.Now, Held: held.Now})
	begin(t, s, "a", `"x"`)
	testenv.Must(t, s.End(t.Context(), "a", EndIdle))
	clock.Advance(2 * 365 * 24 * time.Hour)
	testenv.Must(t, s.Prune(t.Context()))
	if got := ids(t, s, "", 10); got != "a" {
		t.Errorf("kept: %s", got)
	}
	held.Advance(61 * time.Minute)
	testenv.Must(t, s.Prune(t.Context()))
	if got := ids(t, s, "", 10); got != "" {
		t.Errorf("kept after an hour: %s", got)
	}
}

func TestOldAndOversizeHistoriesAreDeleted(t *testing.T) {
	t.Parallel()
	clock := testenv.NewClock(noon)
	s := opened(t, Config{Dir: t.TempDir(), Retention: time.Hour, MaxBytes: 3 * 1600, Now: clock.Now})
	kilobyte := `"` + strings.Repeat("x", 1000) + `"`
	for _, id := range []string{"a", "b", "c"} {
		begin(t, s, id, kilobyte)
		testenv.Must(t, s.End(t.Context(), id, EndIdle))
		clock.Advance(20 * time.Minute)
	}
	testenv.Must(t, s.Prune(t.Context()))
	if got := ids(t, s, "", 10); got != "c b a" {
		t.Fatalf("kept: %s", got)
	}
	if first, next := ids(t, s, "", 2), ids(t, s, "b", 2); first != "c b" || next != "a" {
		t.Errorf("pages %q and %q", first, next)
	}
	clock.Advance(time.Minute) // a ended 61 minutes ago
	testenv.Must(t, s.Prune(t.Context()))
	if got := ids(t, s, "", 10); got != "c b" {
		t.Errorf("after an hour: %s", got)
	}
	begin(t, s, "open", kilobyte, kilobyte)
	testenv.Must(t, s.Room(t.Context()))
	if got := ids(t, s, "", 10); got != "c" {
		t.Errorf("over the bound: %s", got)
	}
	testenv.Must(t, s.Append(t.Context(), "open", 2, [][]byte{[]byte(kilobyte), []byte(kilobyte), []byte(kilobyte)}))
	if err := s.Room(t.Context()); protocol.CodeOf(err) != protocol.CodeStorageFull || ids(t, s, "", 10) != "" {
		t.Errorf("open sessions over the bound: %v", err)
	}
	if got := linesOf(t, s, "open"); len(got) < 5000 {
		t.Errorf("an open session lost lines: %d bytes", len(got))
	}
}

func TestAFileThatCannotBeUsedIsAClearErrorAndStaysAsItIs(t *testing.T) {
	t.Parallel()
	database := func(t *testing.T) []byte {
		t.Helper()
		dir := t.TempDir()
		s, err := Open(t.Context(), Config{Dir: dir})
		testenv.Must(t, err)
		for i := range 50 {
			begin(t, s, fmt.Sprint("s", i), strings.Repeat(`"text"`, 50))
		}
		testenv.Must(t, s.Close())
		raw, err := os.ReadFile(filepath.Join(dir, fileName))
		testenv.Must(t, err)
		return raw
	}
	for name, c := range map[string]struct {
		damage func([]byte) []byte
		want   string
	}{
		"no database": {
			func([]byte) []byte { return []byte(strings.Repeat("not a database ", 20)) }, "damaged or no database",
		},
		"shorter than a page": {func(b []byte) []byte { return b[:50] }, "damaged or no database"},
		"another program's": {
			func(b []byte) []byte { copy(b[68:], "\x00\x00\x00\x07"); return b }, "of another program",
		},
		"a program without a mark": {
			func(b []byte) []byte { copy(b[68:], "\x00\x00\x00\x00"); return b }, "of another program",
		},
		"cut off":            {func(b []byte) []byte { return b[:len(b)/2] }, "is damaged"},
		"damage inside":      {func(b []byte) []byte { clear(b[len(b)/2:]); return b }, "is damaged"},
		"a torn first page":  {func(b []byte) []byte { clear(b[100:4096]); return b }, "is damaged"},
		"of a newer program": {func(b []byte) []byte { b[63] = 9; return b }, "schema 9"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			before := c.damage(database(t))
			path := filepath.Join(dir, fileName)
			testenv.Must(t, os.WriteFile(path, before, 0o600))
			_, err := Open(t.Context(), Config{Dir: dir})
			var e *protocol.Error
			if !errors.As(err, &e) || e.Code != protocol.CodeInvalid || !strings.Contains(e.Message, c.want) || e.Hint == "" {
				t.Errorf("got %v", err)
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Errorf("the file was changed: %d bytes, %v", len(after), err)
			}
		})
	}
}

func TestADirectoryIsForOneProcessAndMustBeWritable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opened(t, Config{Dir: dir})
	if _, err := Open(t.Context(), Config{Dir: dir}); protocol.CodeOf(err) != protocol.CodeConflict {
		t.Errorf("a second process: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	testenv.Must(t, os.WriteFile(file, nil, 0o600))
	if _, err := Open(t.Context(), Config{Dir: file}); protocol.CodeOf(err) != protocol.CodeInvalid {
		t.Errorf("a file as a directory: %v", err)
	}
}

// A process that died while it created the file leaves a database without tables.
func TestAnEmptyDatabaseIsTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.Must(t, os.WriteFile(filepath.Join(dir, fileName), nil, 0o600))
	s := opened(t, Config{Dir: dir})
	begin(t, s, "a", `{}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	testenv.Must(t, s.Run(ctx))
}
