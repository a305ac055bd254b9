package treereader

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// knownTree returns a tree as a check-in leaves it and a script changes it, and what its host knew before the script: no
// more than names, modes and ids.
func knownTree(t *testing.T, script string) (root string, known Files) {
	t.Helper()
	root = t.TempDir()
	shell(t, root, "git init -q -b main; mkdir d; echo f>f; echo g>d/g; ln -s f l; echo x>x; chmod +x x; git add -A; git commit -qm first")
	first := &reading{Request: Request{Root: root}}
	known = first.learn(first.run(t))
	for i := range known {
		known[i].Sum, known[i].Signature = Sum{}, Signature{}
	}
	shell(t, root, script)
	return root, known
}

// Of a tree that the host has just written, the reader reads no content: not even of a file that cannot be opened.
func TestAFreshTreeIsNotRead(t *testing.T) {
	t.Parallel()
	root, known := knownTree(t, "rm x; mkfifo x; echo new>new; rm d/g")
	must(t, os.WriteFile(filepath.Join(root, "f"), []byte("not read"), 0o600))
	must(t, os.Chtimes(filepath.Join(root, "f"), time.Time{}, time.Unix(1, 0)))
	got := (&reading{Request: Request{Root: root, Fresh: time.Now().Add(time.Hour).UnixNano()}, known: known}).run(t)
	if len(got.files) != 1 || got.files["new"] != "new\n" || len(got.deleted) != 1 || got.leftOut["x"] != IsFIFO {
		t.Errorf("told %q, deleted %q, left out %v", got.files, got.deleted, got.leftOut)
	}
	late := (&reading{Request: Request{Root: root, Fresh: time.Unix(1, 0).UnixNano()}, known: known}).run(t)
	if late.files["f"] != "not read" {
		t.Errorf("of a tree that was changed since, told %q", late.files)
	}
	paths := map[string]bool{}
	for _, s := range got.same {
		paths[known[s.Known].Path] = true
		if s.Sum != (Sum{}) || s.Signature.Changed == 0 {
			t.Errorf("%s: %+v", known[s.Known].Path, s)
		}
		known[s.Known].Signature = s.Signature
	}
	if settles := (&reading{Request: Request{Root: root}}).settlesIn(t, root); settles && (!paths["f"] || !paths["l"]) {
		t.Errorf("signatures of %v", paths)
	}
	must(t, os.WriteFile(filepath.Join(root, "f"), []byte("changed!"), 0o600))
	again := (&reading{Request: Request{Root: root}, known: known}).run(t)
	if again.files["f"] != "changed!" {
		t.Errorf("later told %q", again.files)
	}
}

// settlesIn reports whether signatures in a directory are trusted.
func (r *reading) settlesIn(t *testing.T, dir string) bool {
	t.Helper()
	d, err := openDirectory(dir, func() {})
	must(t, err)
	defer d.close()
	return d.settles()
}

// Entries without a file that equal what is known are told if the host asks for them: it makes an index of them.
func TestSkippedEntriesAreToldOnRequest(t *testing.T) {
	t.Parallel()
	root, known := knownTree(t, "git update-index --skip-worktree d/g f; rm -r d")
	for _, asked := range []bool{false, true} {
		got := (&reading{Request: Request{Root: root, Skipped: asked}, known: known}).run(t)
		want := 0
		if asked {
			want = 1 // f is present
		}
		if len(got.kept) != want || want == 1 && got.kept[0].Path != "d/g" || len(got.deleted) != 0 {
			t.Errorf("asked %v: kept %v, deleted %q", asked, got.kept, got.deleted)
		}
	}
}

func TestConflictsInTheIndexAreTold(t *testing.T) {
	t.Parallel()
	root, known := knownTree(t, "git branch b; echo mine>f; git commit -qam m; git checkout -q b; echo theirs>f; git commit -qam t")
	if (&reading{Request: Request{Root: root}, known: known}).run(t).head.IsUnmerged {
		t.Error("a conflict before the merge")
	}
	shell(t, root, "git merge main || true")
	if !(&reading{Request: Request{Root: root}, known: known}).run(t).head.IsUnmerged {
		t.Error("no conflict")
	}
}

// The names of what was left out are bounded, their number is told.
func TestTheNumberOfWhatIsLeftOutIsTold(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	shell(t, root, "for i in $(seq 1003); do echo p$i; done | xargs mkfifo")
	got := (&reading{Request: Request{Root: root}}).run(t)
	if len(got.leftOut) != maxLeftOut || got.more != 3 {
		t.Errorf("%d names and %d more", len(got.leftOut), got.more)
	}
}

// A repository whose refs are in tables has no head for the reader, rather than a wrong one.
func TestATableOfRefsHasNoHead(t *testing.T) {
	t.Parallel()
	root, known := knownTree(t, "echo 'ref: refs/heads/.invalid'>.git/HEAD")
	if head := (&reading{Request: Request{Root: root}, known: known}).run(t).head; head != (Head{}) {
		t.Errorf("%+v", head)
	}
}

// A file that is present counts, whatever the index says of it and whether the host knows it.
func TestAPresentFileThatTheIndexSkipsIsRead(t *testing.T) {
	t.Parallel()
	root, known := knownTree(t, "echo new>new; git add new; git update-index --skip-worktree new; "+
		"rm -r d; echo d>d; echo o>o; git add o; git update-index --skip-worktree o; rm o; mkdir o; echo p>o/p")
	got := (&reading{Request: Request{Root: root, Skipped: true}, known: known}).run(t)
	if got.files["new"] != "new\n" || got.files["d"] != "d\n" || got.files["o/p"] != "p\n" || len(got.kept) != 0 {
		t.Errorf("told %q, kept %v", got.files, got.kept)
	}
}

func TestOnlyNamesAreToldOnRequest(t *testing.T) {
	t.Parallel()
	root, _ := knownTree(t, "echo new>new; echo ignored>ignored; echo ignored>.gitignore; mkfifo p; git update-index --skip-worktree d/g; "+
		"rm -r d; rm f; git init -q inner; echo i>inner/i")
	got := (&reading{Request: Request{Root: root, NamesOnly: true}}).run(t)
	if names := strings.Join(got.names, " "); names != ".gitignore inner/i l new x d/g" || got.leftOut["p"] != IsFIFO || len(got.files) != 0 {
		t.Errorf("%s, left out %v, %d files", names, got.leftOut, len(got.files))
	}
}
