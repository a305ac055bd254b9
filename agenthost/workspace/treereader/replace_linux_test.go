package treereader

import (
	"errors"
	"strings"
	"testing"
)

// A file takes the place of a directory, and a directory that of a file, in one request.
func TestFilesAndDirectoriesTakeEachOthersPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script  string
		changes []Change
		want    string
	}{
		"a directory becomes a file": {
			"mkdir -p a/f/d a/f/empty/e; echo x >a/f/x; echo y >a/f/d/y",
			[]Change{{Path: "a/f", New: becomes(ModeFile, "f")}, {Path: "a/f/d/y", Old: was(ModeFile, "y\n")}, {Path: "a/f/x", Old: was(ModeFile, "x\n")}},
			"a/; a/f 644 f",
		},
		"an empty directory becomes a file": {
			"mkdir -p f/d/e", []Change{{Path: "f", New: becomes(ModeProgram, "f")}}, "f 755 f",
		},
		"a directory becomes a link": {
			"mkdir l; echo x >l/x", []Change{{Path: "l/x", Old: was(ModeFile, "x\n")}, {Path: "l", New: becomes(ModeLink, "nowhere")}}, "l -> nowhere",
		},
		"a file becomes a directory": {
			"mkdir p; echo d >p/d",
			[]Change{{Path: "p/d/a/x", New: becomes(ModeFile, "x")}, {Path: "p/d", Old: was(ModeFile, "d\n")}, {Path: "p/d/y", New: becomes(ModeLink, "a")}},
			"p/; p/d/; p/d/a/; p/d/a/x 644 x; p/d/y -> a",
		},
		"a link to a directory becomes a directory": {
			"mkdir e; echo s >e/s; ln -s e d",
			[]Change{{Path: "d/s", New: becomes(ModeFile, "mine")}, {Path: "d", Old: was(ModeLink, "e")}},
			"d/; d/s 644 mine; e/; e/s 644 s\n",
		},
		"both at once": {
			"echo a >a; mkdir b; echo x >b/x",
			[]Change{{Path: "a/x", New: becomes(ModeFile, "x")}, {Path: "b", New: becomes(ModeFile, "b")}, {Path: "a", Old: was(ModeFile, "a\n")}, {Path: "b/x", Old: was(ModeFile, "x\n")}},
			"a/; a/x 644 x; b 644 b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			shell(t, root, c.script)
			must(t, change(t, root, nil, c.changes...))
			if got := list(t, root); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestWhatARequestDoesNotRemoveKeepsItsPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script, path string
		why          Obstacle
		changes      []Change
	}{
		"another file": {"mkdir f; echo x >f/x; echo y >f/y", "f/y", IsInTheWay, []Change{
			{Path: "f", New: becomes(ModeFile, "f")}, {Path: "f/x", Old: was(ModeFile, "x\n")}, {Path: "new", New: becomes(ModeFile, "n")},
		}},
		"a repository": {"git init -q f/d; echo x >f/x", "f/d/.git/", IsInTheWay, []Change{
			{Path: "f/x", Old: was(ModeFile, "x\n")}, {Path: "f", New: becomes(ModeFile, "f")},
		}},
		"a FIFO":                    {"mkdir f; mkfifo f/p", "f/p", IsInTheWay, []Change{{Path: "f", New: becomes(ModeFile, "f")}}},
		"a directory to be removed": {"mkdir f", "f", IsNoFile, []Change{{Path: "f", Old: was(ModeFile, "f")}}},
		"a file above":              {"echo f >f", "f", IsNoFile, []Change{{Path: "f/x", New: becomes(ModeFile, "f")}}},
		"a link above": {"ln -s / f", "f", IsNoFile, []Change{
			{Path: "f/x", New: becomes(ModeFile, "f")}, {Path: "other", Old: was(ModeFile, "")},
		}},
		"a file above that has changed": {"echo f >f", "f", HasChanged, []Change{
			{Path: "f/x", New: becomes(ModeFile, "f")}, {Path: "f", Old: was(ModeFile, "g")},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			shell(t, root, c.script)
			before := list(t, root)
			err := change(t, root, nil, c.changes...)
			r := (*Refusal)(nil)
			if !errors.As(err, &r) || !strings.HasPrefix(r.Path, c.path) || r.Why != c.why || r.Partly {
				t.Errorf("refused with %v", err)
			}
			if got := list(t, root); got != before {
				t.Errorf("got  %q\nwant %q", got, before)
			}
		})
	}
}
