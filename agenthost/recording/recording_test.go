package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func create(t *testing.T, path string, maxFile int64) *Writer {
	t.Helper()
	w, err := Create(Options{Path: path, Version: "v1", Now: func() time.Time { return begin }, maxFile: maxFile})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// entry is an input as a host passes it to Record.
func entry(t *testing.T, in core.Input, failure string) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(core.Recorded{At: begin, ID: protocol.NewID(), Input: in, Error: failure})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func headless(session string) core.HeadlessOpened {
	return core.HeadlessOpened{Agent: "demo", Token: core.TokenRecord{SessionID: session, ExpiresAt: begin.Add(time.Hour)}}
}

// read returns the entries of a recording as "session Kind", the beginning of a file as
// "part n", and errors.
func read(path string) []string {
	var out []string
	for e, err := range Read(path) {
		switch {
		case err != nil:
			out = append(out, "error "+strings.TrimPrefix(err.Error(), filepath.Dir(path)+string(filepath.Separator)))
		case e.Part > 0:
			out = append(out, fmt.Sprint("part ", e.Part))
		default:
			out = append(out, e.Session+" "+core.Kind(e.Input.Input))
		}
	}
	return out
}

func wantAll(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("\ngot  %q\nwant %q", got, want)
	}
}

func TestARecordingIsAppendedToAtTheNextStart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "records") + string(filepath.Separator)
	w := create(t, dir, 0)
	if want := filepath.Join(dir, FileName); w.Path() != want {
		t.Errorf("path %s, want %s", w.Path(), want)
	}
	w.Record("s1", entry(t, headless("s1"), ""))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.Record("s1", entry(t, core.Idled{}, "")) // too late
	w = create(t, dir, 0)
	w.Record(`s "2"`, entry(t, core.Idled{}, ""))
	wantAll(t, read(w.Path()), "part 1", "s1 HeadlessOpened", "part 1", `s "2" Idled`)
	wantAll(t, read(filepath.Dir(w.Path())), read(w.Path())...)
	info, err := os.Stat(w.Path())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestALineThatWasCutOffHarmsNoOther(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "r.jsonl")
	w := create(t, path, 0)
	w.Record("s1", entry(t, headless("s1"), ""))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw[:len(raw)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	w = create(t, path, 0)
	w.Record("s1", entry(t, core.Idled{}, ""))
	wantAll(t, read(path), "part 1", "error r.jsonl:2: unexpected end of JSON input", "part 1", "s1 Idled")
}

func TestFilesRotateAndTheNewestAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "r.jsonl")
	line := entry(t, core.AgentText{TurnID: "t", Text: strings.Repeat("x", 200)}, "")
	w := create(t, path, int64(2*len(line)+100)) // the header and one line fit, or two lines
	for i := range 20 {
		w.Record(fmt.Sprint("s", i), line)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) != maxFiles {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Size() > w.options.maxFile {
			t.Errorf("%s has %d bytes, %v", file, info.Size(), err)
		}
	}
	got := read(path)
	if got[len(got)-1] != "s19 AgentText" || got[0] == "part 1" || !strings.HasPrefix(got[0], "part ") {
		t.Errorf("got %q", got)
	}
	w.Record("long", entry(t, core.AgentText{Text: strings.Repeat("y", 4096)}, ""))
	if got := read(path); got[len(got)-1] != "long AgentText" {
		t.Errorf("a line longer than a file: %q", got)
	}
}

func TestConcurrentSessionsWriteCompleteLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "r.jsonl")
	w := create(t, path, 4096)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 10 {
				w.Record(fmt.Sprint("s", i), entry(t, core.Idled{}, ""))
			}
		})
	}
	wg.Wait()
	for _, line := range read(path) {
		if strings.HasPrefix(line, "error") {
			t.Error(line)
		}
	}
}

func TestAFullDiskEndsTheRecordingOnly(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	path := filepath.Join(t.TempDir(), "r.jsonl")
	w, err := Create(Options{Path: path, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	_ = w.file.Close() // every write fails from here on
	w.Record("s1", entry(t, core.Idled{}, ""))
	w.Record("s1", entry(t, core.Idled{}, ""))
	if got := strings.Count(log.String(), "the recording ends"); got != 1 {
		t.Errorf("logged %d times: %s", got, log.String())
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestFilesThatAreNoRecordings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for e, err := range Read(filepath.Join(dir, "none.jsonl")) {
		if protocol.CodeOf(err) != protocol.CodeNotFound || e.Line != 0 {
			t.Errorf("no file: %+v, %v", e, err)
		}
	}
	path := filepath.Join(dir, "r.jsonl")
	lines := `{"session":"s1","kind":"Guessed","input":{}}

{"kind":"Idled","input":{}}
text
{"session":"s1","kind":"Idled","input":{}}
{"recording":3,"at":"2026-03-01T12:00:00Z","part":1}
{"session":"s1","kind":"Idled","input":{}}
{"recording":1,"at":"2026-03-01T12:00:00Z","part":1}
{"session":"s1","kind":"Guessed","input":{}}
text
{"recording":2,"at":"2026-03-01T12:00:00Z","part":1}
{"session":"s2","kind":"Idled","input":{}}`
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	wantAll(t, read(path),
		`error r.jsonl:1: unknown kind of input "Guessed"`,
		"error r.jsonl:3: the line is no input of a session",
		"error r.jsonl:4: invalid character 'e' in literal true (expecting 'r')",
		"s1 Idled",
		"error r.jsonl:6: the recording has format 3; this program reads format 2",
		"error r.jsonl:8: the recording was made before 0.1.0, and cannot be read",
		"part 1",
		"s2 Idled",
	)
}
