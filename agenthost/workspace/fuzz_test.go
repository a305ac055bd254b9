package workspace

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/protocol"
)

// Whatever git prints for names that an agent chose, the list is complete or an error.
func FuzzParseFiles(f *testing.F) {
	const id = "0000000000000000000000000000000000000000"
	f.Add(":100644 100644 "+id+" "+id+" M\x00a\x001\t2\ta\x00", "diff --git a/a b/a\n+x\n")
	f.Add(":100644 100644 "+id+" "+id+" R090\x00a\x00b\x001\t2\t\x00a\x00b\x00", "diff --git a/a b/a\ndiff --git a/b\n")
	f.Add(":000000 120000 "+id+" "+id+" A\x00\xff\x00-\t-\t\xff\x00", "no header\n")
	f.Add(":\x00", "")
	f.Add("1\t2", "\ndiff --git ")
	f.Add(": a b c d \x00", "diff --git")
	f.Fuzz(func(t *testing.T, listing, patch string) {
		files, err := parseFiles(listing)
		if err == nil && len(files) > strings.Count(listing, ":") {
			t.Errorf("%d files in %q", len(files), listing)
		}
		for _, file := range files {
			if !utf8.ValidString(file.Path) || !utf8.ValidString(file.OldPath) || file.Status == "" {
				t.Errorf("%+v", file)
			}
		}
		if joined := bytes.Join(splitPatch([]byte(patch)), nil); string(joined) != patch {
			t.Errorf("%q became %q", patch, joined)
		}
	})
}

// served returns a tree that this process serves.
func served(t *testing.T, dir string) *tree {
	t.Helper()
	questions, to := io.Pipe()
	from, answers := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(treereader.ServeTree(questions, answers), answers.Close()) }()
	t.Cleanup(func() {
		must(t, to.Close())
		must(t, <-ended)
	})
	return &tree{Tree: treereader.NewTree(to, from, &treereader.TreeRequest{Root: dir})}
}

// Whatever an agent writes into its refs, the mirror gets names and objects of git's form alone.
func FuzzReadRefs(f *testing.F) {
	const id = "0123456789012345678901234567890123456789"
	f.Add("# pack-refs with: peeled\n"+id+" refs/heads/main\n^"+id+"\n", id+"\n")
	f.Add(id+" refs/heads/../../config\n"+id+" refs/heads/a\tb\n", "ref: refs/heads/main\n")
	f.Add(id+" HEAD\n\x00\n"+id, strings.Repeat("0", 5000))
	f.Fuzz(func(t *testing.T, packed, loose string) {
		dir := t.TempDir()
		write(t, dir, "packed-refs", packed)
		write(t, dir, "refs/heads/main", loose)
		refs, err := readRefs(served(t, dir))
		if err != nil {
			return
		}
		for name, id := range refs {
			if !protocol.IsRefName(name) || !objectID.MatchString(id) {
				t.Errorf("%q: %q", name, id)
			}
		}
		for line := range strings.Lines(string(packedRefs(refs))) {
			if id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); refs[name] != id {
				t.Errorf("line %q", line)
			}
		}
	})
}

// Whatever an agent calls an image, its dimensions are those of a page or not known.
func FuzzDimensions(f *testing.F) {
	f.Add([]byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x02\x40\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("RIFF\x1a\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff"))
	f.Add([]byte("RIFF\x1a\x00\x00\x00WEBPVP8 "))
	f.Add([]byte("GIF89a\xff\xff\xff\xff\x00\x00\x00"))
	f.Add([]byte("\x89PNG\r\n\x1a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		width, height, known := dimensions(data)
		if known && (width < 0 || height < 0) {
			t.Errorf("%d by %d", width, height)
		}
	})
}
