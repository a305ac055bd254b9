package workspace

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bellhop/protocol"
)

// plainPiece masks nothing.
func plainPiece(_, piece string, _ bool) (clean string, used int) {
	return protocol.SanitizeText(piece), len(piece)
}

func plainText(text string) string { return protocol.SanitizeText(text) }

// entryLines formats a list, one entry each.
func entryLines(list *protocol.FileList) string {
	var lines []string
	for _, e := range list.Entries {
		line := string(e.Kind) + " " + e.Name
		if e.Target != "" {
			line += " -> " + e.Target
		}
		if e.Ignored {
			line += " (ignored)"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

func (k *kit) list(dir, after string) *protocol.FileList {
	k.Helper()
	list, err := k.Directory(k.Context(), "s1", "shop", dir, after)
	must(k.T, err)
	return list
}

func (k *kit) read(name string, offset int64) (*protocol.FileContent, error) {
	return k.File(k.Context(), "s1", "shop", name, offset, plainPiece)
}

func (k *kit) find(q protocol.FileSearch) string {
	k.Helper()
	found, err := k.Search(k.Context(), "s1", "shop", q, plainText)
	must(k.T, err)
	var lines []string
	for _, m := range found.Matches {
		lines = append(lines, fmt.Sprintf("%s:%d:%s[%s]%s", m.Path, m.Line, m.Before, m.Match, m.After))
	}
	return strings.Join(lines, "; ")
}

// viewed is a session in a clone of the project shop.
func viewed(t *testing.T) (k *kit, dir string) {
	t.Helper()
	k = open(t, map[string]Project{"shop": {Path: newRepository(t)}})
	return k, k.session("s1", "shop")
}

func TestADirectoryHasDirectoriesFirstAndMarksWhatGitIgnores(t *testing.T) {
	t.Parallel()
	k, dir := viewed(t)
	write(t, dir, "src/new.go", "package src\n")
	write(t, dir, "ignored/secret.txt", "x\n")
	write(t, dir, "a\nb\u202e", "x\n")
	write(t, dir, "bad\xff", "x\n")
	write(t, dir, "src/:(glob)*", "x\n")
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
	list := k.list("", "")
	equal(t, "the workspace", entryLines(list), "directory ignored (ignored); directory src; file \"a\\nb\u202e\"; file \"bad\\377\"; "+
		"file .gitignore; file README; link link -> /etc/passwd; file old.txt")
	if list.Unnamed != 0 || list.Total != 8 || list.Next != "" {
		t.Errorf("%+v", list)
	}
	equal(t, "a directory", entryLines(k.list("src", "")), "file :(glob)*; file new.go")
	equal(t, "an ignored one", entryLines(k.list("ignored", "")), "file secret.txt (ignored)")
	write(t, dir, "d\xff/e\n/bad\xfe", "content\n")
	equal(t, "a directory without a text", entryLines(k.list(`"d\377"/"e\n"`, "")), `file "bad\376"`)
	file, err := k.read(`"d\377"/"e\n"/"bad\376"`, 0)
	must(t, err)
	equal(t, "a file without a text", file.Text, "content\n")
	must(t, os.RemoveAll(filepath.Join(dir, ".git")))
	equal(t, "without git", entryLines(k.list("src", "")), "file :(glob)*; file new.go")
}

// A directory of 100,000 files is read in pages, and so is a repository of as many.
func TestARepositoryWith100000FilesIsListedAndSearchedWithinItsLimits(t *testing.T) {
	t.Parallel()
	k, dir := viewed(t)
	const count = 100_000
	must(t, os.Mkdir(filepath.Join(dir, "many"), 0o750))
	for i := range 10 {
		write(t, dir, fmt.Sprintf("ignored/%d", i), "a needle in a haystack\n")
	}
	for i := range count { // links to ten files, because making as many files takes the disk long
		name := filepath.Join(dir, "many", fmt.Sprintf("f%06d.txt", i))
		must(t, os.Link(filepath.Join(dir, fmt.Sprintf("ignored/%d", i%10)), name))
	}
	list := k.list("many", "")
	if list.Total != count || len(list.Entries) != protocol.DirectoryPage || list.Next != "f000499.txt" {
		t.Fatalf("%d of %d, next %q", len(list.Entries), list.Total, list.Next)
	}
	list = k.list("many", list.Next)
	equal(t, "the second page", list.Entries[0].Name, "f000500.txt")
	list = k.list("many", "f099990.txt")
	end := fmt.Sprintf("%d %s %q", len(list.Entries), list.Entries[8].Name, list.Next)
	equal(t, "the last page", end, `9 f099999.txt ""`)
	equal(t, "after a file that is gone", k.list("many", "f000499.txt.gone").Entries[0].Name, "f000500.txt")

	found, err := k.Search(t.Context(), "s1", "shop", protocol.FileSearch{Query: "needle"}, plainText)
	must(t, err)
	if len(found.Matches) != protocol.MaxMatches || !found.More || found.Files > protocol.MaxMatches+10 {
		t.Errorf("%d matches in %d files, more %t", len(found.Matches), found.Files, found.More)
	}
	k.searchTime = 1
	found, err = k.Search(t.Context(), "s1", "shop", protocol.FileSearch{Query: "nowhere"}, plainText)
	must(t, err)
	if !found.More || found.Files == count {
		t.Errorf("a search without time: %d files, more %t", found.Files, found.More)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = k.Search(gone, "s1", "shop", protocol.FileSearch{Query: "needle"}, plainText)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a search of a client that left: %v", err)
	}
}

func TestALongTextIsReadInPieces(t *testing.T) {
	t.Parallel()
	k, dir := viewed(t)
	long := strings.Repeat("0123456789abcdef", 3*protocol.TextPiece/16/2)
	write(t, dir, "long.txt", long)
	first, err := k.read("long.txt", 0)
	must(t, err)
	if first.Text != long[:protocol.TextPiece] || first.End != protocol.TextPiece || !first.More ||
		first.Size != int64(len(long)) || first.Kind != protocol.ContentText {
		t.Errorf("first piece: %d bytes, end %d, more %t", len(first.Text), first.End, first.More)
	}
	second, err := k.read("long.txt", first.End)
	must(t, err)
	if first.Text+second.Text != long || second.More || second.Offset != first.End {
		t.Errorf("second piece: %d bytes, more %t", len(second.Text), second.More)
	}
	for _, offset := range []int64{-1, int64(len(long)) + 1} {
		_, err = k.read("long.txt", offset)
		errorHint(t, err, protocol.CodeInvalid)
	}
	write(t, dir, "empty", "")
	if file, err := k.read("empty", 0); err != nil || file.Kind != protocol.ContentText || file.More {
		t.Errorf("an empty file: %+v, %v", file, err)
	}
}

func TestAHugeFileCostsNoMoreThanAPiece(t *testing.T) {
	t.Parallel()
	k, dir := viewed(t)
	write(t, dir, "huge.log", "first line\n")
	must(t, os.WriteFile(filepath.Join(dir, "huge.bin"), []byte("\x7fELF\x00"), 0o600))
	must(t, os.Truncate(filepath.Join(dir, "huge.bin"), 100<<20))
	big, err := os.OpenFile(filepath.Join(dir, "huge.log"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	block := bytes.Repeat([]byte("one of many lines\n"), 64<<10)
	for range 100 {
		_, err = big.Write(block)
		must(t, err)
	}
	must(t, big.Close())
	file, err := k.read("huge.log", 0)
	must(t, err)
	if len(file.Text) != protocol.TextPiece || !file.More || file.Size < 100<<20 {
		t.Errorf("%d bytes of %d", len(file.Text), file.Size)
	}
	file, err = k.read("huge.bin", 0)
	must(t, err)
	if file.Kind != protocol.ContentBinary || file.Text != "" || file.Data != "" || file.Size != 100<<20 {
		t.Errorf("%s, %d bytes", file.Kind, file.Size)
	}
	found, err := k.Search(t.Context(), "s1", "shop", protocol.FileSearch{Query: "line"}, plainText)
	must(t, err)
	if found.Skipped != 2 {
		t.Errorf("skipped %d", found.Skipped)
	}
}

func TestImagesAreShownAndSVGIsText(t *testing.T) {
	t.Parallel()
	k, dir := viewed(t)
	var encoded bytes.Buffer
	must(t, png.Encode(&encoded, image.NewGray(image.Rect(0, 0, 3, 2))))
	picture := encoded.String()
	write(t, dir, "a.png", picture)
	write(t, dir, "a.svg", `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`)
	write(t, dir, "a.html", "<!doctype html><script>alert(1)</script>")
	write(t, dir, "damaged.png", picture[:20])
	write(t, dir, "bomb.png", bombOf(picture))
	write(t, dir, "a.webp", "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x02\x40\x00\x00\x00\x00\x00\x00\x00")
	write(t, dir, "bomb.webp", "RIFF\x1a\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\xff\xff\x00")
	write(t, dir, "large.png", picture)
	must(t, os.Truncate(filepath.Join(dir, "large.png"), protocol.MaxImage+1))
	file, err := k.read("a.png", 0)
	must(t, err)
	equal(t, "an image", string(file.Kind)+" "+file.MediaType, "image image/png")
	if data, err := base64.StdEncoding.DecodeString(file.Data); err != nil || string(data) != picture {
		t.Errorf("its data: %v", err)
	}
	for name, want := range map[string]string{
		"a.svg": "text text/plain ", "a.html": "text text/plain ",
		"damaged.png": "binary image/png The image is damaged",
		"bomb.png":    "binary image/png Images of more than 64 million pixels are not shown",
		"bomb.webp":   "binary image/webp Images of more than 64 million pixels are not shown",
		"large.png":   "binary image/png Images of more than 5 MiB are not shown",
		"a.webp":      "image image/webp ",
	} {
		file, err := k.read(name, 0)
		must(t, err)
		equal(t, name, string(file.Kind)+" "+file.MediaType+" "+file.Note, want)
	}
	secret := func(_, piece string, _ bool) (string, int) {
		return strings.ReplaceAll(protocol.SanitizeText(piece), "IDAT", "[redacted]"), len(piece)
	}
	file, err = k.File(t.Context(), "s1", "shop", "a.png", 0, secret)
	must(t, err)
	if file.Data != "" || file.Note != "The image contains a secret of the session" {
		t.Errorf("an image with a secret: %+v", file)
	}
}

// bombOf makes a small PNG claim to have 2^32 pixels.
func bombOf(picture string) string {
	data := []byte(picture)
	copy(data[16:24], "\x00\x01\x00\x00\x00\x01\x00\x00")
	sum := crc32.ChecksumIEEE(data[12:29])
	copy(data[29:33], []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	return string(data)
}

// The agent can put anything in the place of a file.
func TestWhatIsNoFileOfTheWorkspaceIsNotRead(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	write(t, outside, "secret.txt", "secret\n")
	k, dir := viewed(t)
	k.session("s2", "shop")
	write(t, dir, "src/a.txt", "a\n")
	must(t, os.Symlink(outside, filepath.Join(dir, "out")))
	must(t, os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(dir, "file")))
	must(t, os.Symlink("src", filepath.Join(dir, "inside")))
	must(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	socket, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, "s"))
	must(t, err)
	defer socket.Close()
	for name, want := range map[string]protocol.Code{
		"../s2/README": protocol.CodeInvalid, "/etc/passwd": protocol.CodeInvalid, ".git/config": protocol.CodeInvalid,
		"src/.GIT/config": protocol.CodeInvalid, "a\x00b": protocol.CodeInvalid, "src/../README": protocol.CodeInvalid,
		"out/secret.txt": protocol.CodeConflict, "file": protocol.CodeConflict, "inside/a.txt": protocol.CodeConflict,
		"loop": protocol.CodeConflict, "fifo": protocol.CodeConflict, "s": protocol.CodeConflict,
		"src": protocol.CodeConflict, "gone": protocol.CodeGone, "src/a.txt/b": protocol.CodeGone,
		"": protocol.CodeInvalid, strings.Repeat("x", 300): protocol.CodeGone,
	} {
		if _, err := k.read(name, 0); protocol.CodeOf(err) != want {
			t.Errorf("%.20q: %v, want %s", name, err, want)
		}
	}
	for name, want := range map[string]protocol.Code{
		"..": protocol.CodeInvalid, ".git": protocol.CodeInvalid, "out": protocol.CodeConflict,
		"inside": protocol.CodeConflict, "README": protocol.CodeGone, "fifo": protocol.CodeGone, "gone": protocol.CodeGone,
	} {
		if _, err := k.Directory(t.Context(), "s1", "shop", name, ""); protocol.CodeOf(err) != want {
			t.Errorf("directory %q: %v, want %s", name, err, want)
		}
	}
	if found := k.find(protocol.FileSearch{Query: "secret"}); found != "" {
		t.Errorf("found %s", found)
	}
	_, err = k.File(t.Context(), "unknown", "shop", "README", 0, plainPiece)
	errorHint(t, err, protocol.CodeNotFound)
	must(t, os.Rename(dir, dir+".moved"))
	must(t, os.Symlink(outside, dir))
	if _, err := k.read("secret.txt", 0); protocol.CodeOf(err) != protocol.CodeGone {
		t.Errorf("a workspace that is a link: %v", err)
	}
	must(t, os.Remove(dir))
	must(t, os.Rename(dir+".moved", dir))
}

// The directory of a project below its repository belongs to the agent too.
func TestAWorkingDirectoryThatIsALinkIsNotRead(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	write(t, outside, "secret.txt", "secret\n")
	repo := newRepository(t)
	write(t, repo, "web/index.html", "hello\n")
	run(t, repo, "add", ".")
	run(t, repo, "commit", "--quiet", "-m", "web")
	k := open(t, map[string]Project{"web": {Path: repo + "/web"}})
	dir := k.session("s1", "web")
	list, err := k.Directory(t.Context(), "s1", "web", "", "")
	must(t, err)
	equal(t, "the directory", entryLines(list), "file index.html")
	found, err := k.Search(t.Context(), "s1", "web", protocol.FileSearch{Query: "hello"}, plainText)
	must(t, err)
	if len(found.Matches) != 1 || found.Matches[0].Path != "index.html" {
		t.Errorf("found %+v", found)
	}
	must(t, os.RemoveAll(dir))
	must(t, os.Symlink(outside, dir))
	if _, err = k.Directory(t.Context(), "s1", "web", "", ""); protocol.CodeOf(err) != protocol.CodeConflict {
		t.Errorf("a link out of the workspace: %v", err)
	}
	_, err = k.File(t.Context(), "s1", "web", "secret.txt", 0, plainPiece)
	errorHint(t, err, protocol.CodeConflict)
}

func TestASearchFindsTextsAndExpressions(t *testing.T) {
	t.Parallel()
	k, dir := viewed(t)
	write(t, dir, "src/a.go", "package a\n\nfunc Hello() {}\nfunc hello2() {}\r\n")
	write(t, dir, "ignored/b.go", "hello\n")
	write(t, dir, "blob", "hello\x00\n")
	write(t, dir, "long.txt", strings.Repeat("ä", 500)+"needle"+strings.Repeat("ö", 500)+"\n")
	equal(t, "any case", k.find(protocol.FileSearch{Query: "hello"}),
		"src/a.go:3:func [Hello]() {}; src/a.go:4:func [hello]2() {}")
	equal(t, "this case", k.find(protocol.FileSearch{Query: "hello", Case: true}), "src/a.go:4:func [hello]2() {}")
	equal(t, "no expression", k.find(protocol.FileSearch{Query: "h.llo"}), "")
	equal(t, "an expression", k.find(protocol.FileSearch{Query: `^func \w+\d`, Regexp: true}),
		"src/a.go:4:[func hello2]() {}")
	equal(t, "a long line", k.find(protocol.FileSearch{Query: "needle"}),
		"long.txt:1:"+strings.Repeat("ä", 100)+"[needle]"+strings.Repeat("ö", 100))
	for _, q := range []protocol.FileSearch{
		{Query: " "},
		{Query: "(", Regexp: true},
		{Query: `(a)\1`, Regexp: true},
		{Query: strings.Repeat("x", protocol.MaxSearchQuery+1)},
		{Query: "(a{1000}){1000}", Regexp: true},
	} {
		_, err := k.Search(t.Context(), "s1", "shop", q, plainText)
		errorHint(t, err, protocol.CodeInvalid)
	}
}

// A search must not reveal a masked text, not even that a letter is the first one of a secret.
func TestASearchFindsNothingThatAMaskRemoves(t *testing.T) {
	t.Parallel()
	k, dir := viewed(t)
	write(t, dir, "env", "KEY=hunter2-canary\n")
	mask := func(text string) string { return strings.ReplaceAll(text, "hunter2-canary", "[redacted]") }
	for q, want := range map[string]int{"hunter2": 0, "KEY=hu": 0, "KEY=": 1} {
		found, err := k.Search(t.Context(), "s1", "shop", protocol.FileSearch{Query: q}, mask)
		must(t, err)
		if len(found.Matches) != want || want > 0 && found.Matches[0].After != "[redacted]" {
			t.Errorf("%s: %+v", q, found.Matches)
		}
	}
}

// No setting of the repository starts a program when files are shown.
func TestShowingFilesStartsNoProgramOfTheRepository(t *testing.T) {
	t.Parallel()
	k, dir := viewed(t)
	trap := filepath.Join(t.TempDir(), "trap")
	for _, key := range []string{"core.fsmonitor", "diff.external", "core.pager", "filter.x.clean", "filter.x.smudge"} {
		run(t, dir, "config", key, "touch "+trap)
	}
	write(t, dir, ".gitattributes", "* filter=x\n")
	k.list("", "")
	_, err := k.read("README", 0)
	must(t, err)
	k.find(protocol.FileSearch{Query: "shop"})
	if exists(trap) {
		t.Error("a program was started")
	}
}
