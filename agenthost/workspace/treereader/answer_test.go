package treereader

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

var (
	small    = Request{HashSize: 20, Limits: Limits{Files: 3, Bytes: 100, FileSize: 60, Entries: 10, Depth: 10}}
	oneKnown = Files{{Path: "k", Mode: ModeFile, ID: strings.Repeat("0", 40)}}
)

// encode writes frames as a reader does.
func encode(t testing.TB, facts ...Fact) []byte {
	t.Helper()
	var out bytes.Buffer
	e := newEncoder(&out)
	for _, f := range facts {
		must(t, e.fact(f))
	}
	e.b = append(e.b, frameEnd)
	must(t, e.write())
	must(t, e.flush())
	return out.Bytes()
}

// readAll reads an answer to its end.
func readAll(data []byte) (facts []Fact, err error) {
	a := ReadAnswer(bytes.NewReader(data), &small, oneKnown)
	for {
		fact, err := a.Next()
		if errors.Is(err, io.EOF) {
			return facts, nil
		}
		if err != nil {
			return facts, err
		}
		facts = append(facts, fact)
	}
}

func newFile(path string, mode Mode, content string) File {
	return File{Path: path, Mode: mode, Size: int64(len(content)), content: []byte(content)}
}

func TestAnswersOfALyingReaderAreRefused(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("a", 40)
	for name, facts := range map[string][]Fact{
		"above":                   {newFile("../a", ModeFile, "")},
		"absolute":                {newFile("/a", ModeFile, "")},
		"empty path":              {newFile("", ModeFile, "")},
		"in .git":                 {newFile("d/.GIT/config", ModeFile, "")},
		"in .git of NTFS":         {newFile("d/git~1/config", ModeFile, "")},
		"NUL":                     {newFile("a\x00b", ModeFile, "")},
		"dot":                     {newFile("a/./b", ModeFile, "")},
		"long path":               {newFile(strings.Repeat("a/", 2048)+"b", ModeFile, "")},
		"twice":                   {newFile("a", ModeFile, ""), newFile("a", ModeFile, "")},
		"twice, kept":             {newFile("a", ModeFile, ""), Kept{"a", ModeCommit, id}},
		"a file as commit":        {newFile("a", ModeCommit, "")},
		"mode of another program": {newFile("a", 0o104755, "")},
		"large":                   {newFile("a", ModeFile, strings.Repeat("x", 61))},
		"large together":          {newFile("a", ModeFile, strings.Repeat("x", 60)), newFile("b", ModeFile, strings.Repeat("x", 60))},
		"many":                    {newFile("a", ModeFile, ""), newFile("b", ModeFile, ""), newFile("c", ModeFile, ""), newFile("d", ModeFile, "")},
		"size of attributes":      {Attributes{"a", bytes.Repeat([]byte("x"), 101)}},
		"unknown file":            {Deleted{1}},
		"too many updates":        {Deleted{0}, Same{Known: 0}},
		"id":                      {Kept{"a", ModeCommit, "HEAD"}},
		"id of the wrong length":  {Kept{"a", ModeCommit, id + id}},
		"mode of an entry":        {Kept{"a", 0, id}},
		"path of an entry":        {Kept{"a/../../b", ModeFile, id}},
		"reason":                  {LeftOut{"a", reasons}},
		"branch":                  {Head{Ref: "refs/heads/../../x", Commit: ""}},
		"no branch":               {Head{Ref: "HEAD", Commit: ""}},
		"commit":                  {Head{Ref: "refs/heads/a", Commit: "--all"}},
		"two heads":               {Head{}, Head{}},
	} {
		if got, err := readAll(encode(t, facts...)); !errors.Is(err, errWire) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestAnswersThatEndEarlyAreRefused(t *testing.T) {
	t.Parallel()
	whole := encode(t, Head{Ref: "refs/heads/a", Commit: ""}, newFile("a", ModeFile, "content"), LeftOut{"x", IsFIFO}, Deleted{0})
	if facts, err := readAll(whole); err != nil || len(facts) != 4 {
		t.Fatal(facts, err)
	}
	for length := range whole {
		if _, err := readAll(whole[:length]); !errors.Is(err, errWire) {
			t.Errorf("%d of %d bytes: %v", length, len(whole), err)
		}
	}
}

func TestContentThatNobodyReadsIsSkipped(t *testing.T) {
	t.Parallel()
	a := ReadAnswer(bytes.NewReader(encode(t, newFile("a", ModeFile, "content"), newFile("b", ModeFile, "more"))), &small, nil)
	_, err := a.Next()
	must(t, err)
	second, err := a.Next()
	must(t, err)
	content, err := io.ReadAll(second.(File).Content)
	must(t, err)
	if string(content) != "more" {
		t.Errorf("read %q", content)
	}
}

func TestRequestsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	want := Request{Root: "/a\xff", HashSize: 32, Exclude: "*.o\n", Limits: wide, Fresh: 1795000000123456789, Submodules: []string{"a/b", "c\xff"}}
	known := Files{{"a", ModeLink, strings.Repeat("b", 64), Sum{1}, Signature{-1, -2, 3, 4, 1 << 63}}, {Path: "b/\xff", Mode: ModeCommit}}
	var out bytes.Buffer
	must(t, WriteRequest(&out, &want, known))
	written := bytes.Clone(out.Bytes())
	got, files, err := readRequest(&out)
	must(t, err)
	if !reflect.DeepEqual(*got, want) || len(files) != 2 || files[0] != known[0] || files[1] != known[1] {
		t.Errorf("%+v %+v", got, files)
	}
	for length := range written {
		if _, _, err := readRequest(bytes.NewReader(written[:length])); err == nil {
			t.Errorf("%d of %d bytes are a request", length, len(written))
		}
	}
	var unsorted bytes.Buffer
	must(t, WriteRequest(&unsorted, &want, Files{known[1], known[0]}))
	if _, _, err := readRequest(&unsorted); !errors.Is(err, errOrder) {
		t.Error(err)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(encode(f, Head{Ref: "refs/heads/a", Commit: ""}, newFile("a", ModeFile, "content"), LeftOut{"x", IsFIFO}))
	f.Add(encode(f, Kept{"a", ModeCommit, strings.Repeat("a", 40)}, Same{}, Attributes{"b", nil}))
	f.Add(encode(f, Name{"a", true}, Inner{"b", 2}, Staged{"c", ModeFile, strings.Repeat("a", 40), true}))
	f.Fuzz(func(t *testing.T, data []byte) {
		facts, _ := readAll(data)
		size := int64(0)
		for _, fact := range facts {
			if file, ok := fact.(File); ok {
				if size += file.Size; !IsPath(file.Path) || size > small.Limits.Bytes {
					t.Errorf("%+v", file)
				}
			}
		}
	})
}
