package treereader

import (
	"slices"
	"strings"
	"testing"
)

// A reading of what no snapshot has tells of that, and of nothing else.
func TestWhatNoSnapshotHas(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	shell(t, root, `git init -q -b main; echo ignored >.gitignore; echo aaaa >f; echo g >g; git add -A; git commit -qm first
		git update-index --assume-unchanged g; echo new >new
		mkdir -p ignored/node_modules ignored/d; for f in node_modules/a d/b c.pyc '.git~1'; do echo x >ignored/$f; done
		ln -s nowhere ignored/link; ln -s nowhere ignored/vendor; mkfifo ignored/fifo
		mkdir -p in/.git in/deep ignored/in; echo x >in/deep/a; echo x >in/.git/x; echo gitdir >ignored/in/.git; echo x >ignored/in/a`)
	got := (&reading{Request: Request{Root: root, NamesOnly: true, Unkept: true}}).run(t)
	slices.Sort(got.names)
	if want := "ignored/.git~1 ignored/d/b ignored/link"; strings.Join(got.names, " ") != want {
		t.Errorf("names %q, want %s", got.names, want)
	}
	slices.SortFunc(got.inner, func(a, b Inner) int { return strings.Compare(a.Path, b.Path) })
	if !slices.Equal(got.inner, []Inner{{"ignored/in", 1}, {"in", 1}}) {
		t.Errorf("inner %+v", got.inner)
	}
	var staged []string
	for _, e := range got.staged {
		if e.IsHidden {
			e.Path += " hidden"
		}
		staged = append(staged, e.Path)
	}
	if want := ".gitignore, f, g hidden"; strings.Join(staged, ", ") != want || got.staged[1].ID != shellLine(t, root, "git rev-parse :f") {
		t.Errorf("staged %+v", got.staged)
	}
	if len(got.files) != 0 || len(got.kept) != 0 || len(got.leftOut) != 0 {
		t.Errorf("files %v, kept %v, left out %v", got.files, got.kept, got.leftOut)
	}
}

func shellLine(t *testing.T, dir, script string) string {
	t.Helper()
	return strings.TrimSpace(shell(t, dir, script))
}
