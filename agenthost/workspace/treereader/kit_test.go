package treereader

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost/workspace/worktreetest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write makes a file with its directories.
func write(t testing.TB, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), 0o644))
}

func shell(t testing.TB, dir, script string, env ...string) string {
	t.Helper()
	return worktreetest.Shell(t, dir, script, env...)
}

// reading is what a test asks for.
type reading struct {
	Request
	known Files
	step  func()
	now   func() time.Time
}

var wide = Limits{Files: 50_000, Bytes: 512 << 20, FileSize: 64 << 20, Large: 1 << 30, Entries: 1_000_000, Depth: 100}

// result is an answer.
type result struct {
	files      map[string]string
	names      []string
	inner      []Inner
	staged     []Staged
	modes      map[string]Mode
	signatures map[string]Signature
	same       []Same
	kept       []Kept
	deleted    []string
	attributes map[string]string
	leftOut    map[string]Reason
	more       int
	head       Head
	raw        []byte // the answer as it was written
}

func (r *reading) run(t testing.TB) *result {
	t.Helper()
	got, err := r.try(t)
	must(t, err)
	return got
}

// try makes a reading as host and reader do.
func (r *reading) try(t testing.TB) (*result, error) {
	t.Helper()
	if r.HashSize == 0 {
		r.HashSize = 20
	}
	if r.Limits == (Limits{}) {
		r.Limits = wide
	}
	if r.step == nil {
		r.step = func() {}
	}
	if r.now == nil {
		r.now = time.Now
	}
	var request, answer bytes.Buffer
	must(t, WriteRequest(&request, &r.Request, r.known))
	if err := serve(&request, &answer, r.now, r.step); err != nil {
		return nil, err
	}
	got := &result{
		files: map[string]string{}, modes: map[string]Mode{}, signatures: map[string]Signature{},
		attributes: map[string]string{}, leftOut: map[string]Reason{}, raw: answer.Bytes(),
	}
	facts := ReadAnswer(bytes.NewReader(got.raw), &r.Request, r.known)
	for {
		fact, err := facts.Next()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got.add(t, r.known, fact)
	}
}

func (got *result) add(t testing.TB, known Files, fact Fact) {
	t.Helper()
	switch f := fact.(type) {
	case File:
		content, err := io.ReadAll(f.Content)
		must(t, err)
		got.files[f.Path], got.modes[f.Path], got.signatures[f.Path] = string(content), f.Mode, f.Signature
	case Name:
		got.names = append(got.names, f.Path)
	case Inner:
		got.inner = append(got.inner, f)
	case Staged:
		got.staged = append(got.staged, f)
	case Same:
		got.same = append(got.same, f)
	case Kept:
		got.kept = append(got.kept, f)
	case Deleted:
		got.deleted = append(got.deleted, known[f.Known].Path)
	case Attributes:
		got.attributes[f.Path] = string(f.Content)
	case LeftOut:
		got.leftOut[f.Path] = f.Reason
	case MoreLeftOut:
		got.more = f.Count
	case Head:
		got.head = f
	}
}

// learn returns what a host knows after a reading: without filters of git, the content is that of the objects.
func (r *reading) learn(got *result) Files {
	w := walker{request: &r.Request}
	var next Files
	for i, k := range r.known {
		_, isChanged := got.files[k.Path]
		if isChanged || slices.Contains(got.deleted, k.Path) {
			continue
		}
		for _, s := range got.same {
			if s.Known == i {
				k.Sum, k.Signature = s.Sum, s.Signature
			}
		}
		next = append(next, k)
	}
	for path, content := range got.files {
		next = append(next, Known{
			path, got.modes[path], w.blob([]byte(content)), SumOf([]byte(content)), got.signatures[path],
		})
	}
	slices.SortFunc(next, func(a, b Known) int { return strings.Compare(a.Path, b.Path) })
	return next
}

// later is a clock that is ahead of the files' times, so that these are settled.
func later() time.Time { return time.Now().Add(time.Hour) }
