package treereader

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// change makes changes as host and writer do.
func change(t testing.TB, root string, step func(), changes ...Change) error {
	t.Helper()
	if step == nil {
		step = func() {}
	}
	for i := range changes {
		if n := &changes[i].New; n.Content == nil {
			n.Content = strings.NewReader(strings.Repeat("n", int(n.Size)))
		}
	}
	var request, answer bytes.Buffer
	must(t, WriteChanges(&request, root, 20, changes))
	if err := serveChanges(&request, &answer, step); err != nil {
		return err
	}
	_, err := ReadOutcome(&answer)
	return err
}

func was(mode Mode, content string) Old {
	return Old{Mode: mode, Size: int64(len(content)), Sum: SumOf([]byte(content))}
}

func becomes(mode Mode, content string) New {
	return New{Mode: mode, Size: int64(len(content)), Content: strings.NewReader(content)}
}

// list describes all that is below a directory.
func list(t testing.TB, root string) string {
	t.Helper()
	var all []string
	must(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name, _ := filepath.Rel(root, path)
		info, err := entry.Info()
		must(t, err)
		switch {
		case entry.IsDir():
			name += "/"
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			must(t, err)
			name += fmt.Sprintf(" %o %s", info.Mode().Perm(), content)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			must(t, err)
			name += " -> " + target
		default:
			name += " ?"
		}
		all = append(all, name)
		return nil
	}))
	return strings.Join(all, "; ")
}

func TestChangesAreMade(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "a", "old")
	must(t, os.Chmod(filepath.Join(root, "a"), 0o600))
	write(t, root, "p", "old")
	write(t, root, "d/e/gone", "x")
	write(t, root, "stays", "s")
	must(t, os.Symlink("a", filepath.Join(root, "l")))
	must(t, change(t, root, nil,
		Change{Path: "a", Old: was(ModeFile, "old"), New: becomes(ModeFile, "new")},
		Change{Path: "p", Old: was(ModeFile, "old"), New: becomes(ModeProgram, "")},
		Change{Path: "d/e/gone", Old: was(ModeFile, "x")},
		Change{Path: "never/was"},
		Change{Path: "l", Old: was(ModeLink, "a"), New: becomes(ModeLink, "/b")},
		Change{Path: "n/m/f", New: becomes(ModeFile, "f")},
		Change{Path: "stays", Old: was(ModeFile, "s"), New: New{Stays: true}},
		Change{Path: "any", Old: Old{Any: true}, New: New{Mode: ModeFile, Size: 3, Perm: 0o444}, Lock: true},
		Change{Path: "id", Old: Old{Any: true}, New: becomes(ModeFile, "id")},
	))
	want := "a 600 new; any 444 nnn; id 644 id; l -> /b; n/; n/m/; n/m/f 644 f; p 755 ; stays 644 s"
	if got := list(t, root); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	id := (&walker{request: &Request{HashSize: 20}}).blob([]byte("id"))
	must(t, change(t, root, nil, Change{Path: "id", Old: Old{Mode: ModeFile, Size: 2, ID: id}}))
	if _, err := os.Lstat(filepath.Join(root, "id")); err == nil {
		t.Error("a file that is known by its object is still there")
	}
}

// One file that is not as expected keeps all from being changed, and nothing is left behind.
func TestChangesAreRefusedTogether(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		change Change
		want   Refusal
	}{
		"other content": {"echo -n x >f", Change{Path: "f", Old: was(ModeFile, "y")}, Refusal{Path: "f"}},
		"another size":  {"echo -n xx >f", Change{Path: "f", Old: was(ModeFile, "x")}, Refusal{Path: "f"}},
		"a program now": {"echo -n x >f; chmod +x f", Change{Path: "f", Old: was(ModeFile, "x")}, Refusal{Path: "f"}},
		"a link now":    {"ln -s x f", Change{Path: "f", Old: was(ModeFile, "x")}, Refusal{Path: "f"}},
		"another link":  {"ln -s x f", Change{Path: "f", Old: was(ModeLink, "y")}, Refusal{Path: "f"}},
		"a new file":    {"touch f", Change{Path: "f"}, Refusal{Path: "f"}},
		"gone":          {"", Change{Path: "f", Old: was(ModeFile, "")}, Refusal{Path: "f"}},
		"a FIFO":        {"mkfifo f", Change{Path: "f", Old: was(ModeFile, "")}, Refusal{Path: "f"}},
		"a directory":   {"mkdir f", Change{Path: "f", Old: Old{Any: true}}, Refusal{Path: "f", Why: IsNoFile}},
		"a file above":  {"touch d", Change{Path: "d/f"}, Refusal{Path: "d", Why: IsNoFile}},
		"a link above":  {"mkdir e; ln -s e d", Change{Path: "d/f"}, Refusal{Path: "d", Why: IsNoFile}},
		"a FIFO above":  {"mkfifo d", Change{Path: "d/x/f"}, Refusal{Path: "d", Why: IsNoFile}},
		"a lock":        {"touch f f.lock", Change{Path: "f", Old: was(ModeFile, ""), Lock: true, New: becomes(ModeFile, "")}, Refusal{Path: "f", Why: IsLocked}},
		"a directory that is in the way": {
			"mkdir -p " + temporary("f") + "/x", Change{Path: "f", New: becomes(ModeFile, "")}, Refusal{Path: "f", Why: Unwritable},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			write(t, root, "0", "first")
			shell(t, root, c.script)
			before := list(t, root)
			err := change(t, root, nil,
				Change{Path: "0", Old: was(ModeFile, "first"), New: becomes(ModeFile, "changed")},
				Change{Path: "new/1", New: becomes(ModeFile, "new")}, c.change)
			var refusal *Refusal
			if !errors.As(err, &refusal) || *refusal != c.want {
				t.Errorf("got %v, want %v", err, &c.want)
			}
			if after := list(t, root); after != before {
				t.Errorf("before %s\nafter  %s", before, after)
			}
		})
	}
}

func TestChangesOutsideAreRefused(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "/etc/x", "../x", "a/../../x", ".git/config", "a/.GIT/config", "a\x00b", "."} {
		if err := change(t, t.TempDir(), nil, Change{Path: path, New: becomes(ModeFile, "x")}); err == nil {
			t.Errorf("%q was written", path)
		}
	}
}

// A writer that was killed leaves no lock: the next one knows its own, and only its own.
func TestTheWritersOwnLockIsReleased(t *testing.T) {
	t.Parallel()
	for own, want := range map[bool]string{true: "", false: `"f" is locked`} {
		root := t.TempDir()
		write(t, root, "f", "old")
		write(t, root, temporary("f"), "half")
		if own {
			must(t, os.Link(filepath.Join(root, temporary("f")), filepath.Join(root, "f.lock")))
		} else {
			write(t, root, "f.lock", "half")
		}
		err := change(t, root, nil, Change{Path: "f", Old: was(ModeFile, "old"), New: becomes(ModeFile, "new"), Lock: true})
		if got := fmt.Sprint(err); err == nil && want != "" || err != nil && got != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestExchangedNamesLeadTheWriterNowhere exchanges names at the writer's own steps: nothing outside is read or changed.
func TestExchangedNamesLeadTheWriterNowhere(t *testing.T) {
	t.Parallel()
	outside, root := t.TempDir(), t.TempDir()
	for _, name := range []string{"f", "n", "gone", "e/f"} {
		write(t, outside, name, secret)
	}
	before := list(t, outside)
	at := func(name string) string { return filepath.Join(root, name) }
	const rounds = 60 * 11
	made := 0
	for i := range rounds {
		must(t, os.RemoveAll(root))
		for _, name := range []string{"d/f", "d/gone", "d/e/f", "x/f"} {
			write(t, root, name, "old")
		}
		must(t, os.Symlink(outside, at("out")))
		must(t, os.Symlink(outside+"/f", at("d/out")))
		must(t, os.Symlink(outside+"/e", at("d/oute")))
		must(t, unix.Mkfifo(at("fifo"), 0o644))
		must(t, unix.Mkfifo(at("d/fifo"), 0o644))
		pair := [][2]string{
			{"d", "out"},
			{"d/f", "d/out"},
			{"d/e", "d/oute"},
			{"d", "fifo"},
			{"d/f", "d/fifo"},
			{"d", "x"},
			{"d/e", "d/fifo"},
			{temporary("d/f"), "d/out"},
			{temporary("d/f"), "d/fifo"},
			{"d/f.lock", "d/out"},
			{temporary("d/f"), "d/e"},
		}[i%11]
		every, steps := 1+rand.IntN(12), 0
		offset := rand.IntN(every)
		err := change(t, root, func() {
			if steps++; steps%every == offset {
				_ = exchange(at(pair[0]), at(pair[1]))
			}
		},
			Change{Path: "d/f", Old: was(ModeFile, "old"), New: becomes(ModeFile, "new"), Lock: i%2 == 0},
			Change{Path: "d/n", New: becomes(ModeLink, "new")},
			Change{Path: "d/gone", Old: was(ModeFile, "old")},
			Change{Path: "d/e/f", Old: was(ModeFile, "old"), New: becomes(ModeProgram, "new")},
		)
		var refusal *Refusal
		switch {
		case err == nil:
			made++
		case !errors.As(err, &refusal):
			t.Fatalf("%v every %d steps: %v", pair, every, err)
		}
		if after := list(t, outside); after != before {
			t.Fatalf("%v every %d steps, outside: %s", pair, every, after)
		}
	}
	if made == 0 || made == rounds {
		t.Errorf("%d of %d changes were made", made, rounds)
	}
}

// A program that changes a file while the new one is written keeps its change.
func TestAChangeMeanwhileIsKept(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	refused := 0
	for at := 1; at < 60; at++ {
		write(t, root, "f", "old")
		steps := 0
		err := change(t, root, func() {
			if steps++; steps == at {
				write(t, root, "f", "newer work")
			}
		}, Change{Path: "f", Old: was(ModeFile, "old"), New: becomes(ModeFile, "discarded")})
		content, readErr := os.ReadFile(filepath.Join(root, "f"))
		must(t, readErr)
		if err != nil {
			refused++
			if string(content) != "newer work" {
				t.Errorf("step %d: %q", at, content)
			}
		}
	}
	if refused < 5 {
		t.Errorf("%d were refused", refused)
	}
}

// TestWriteHelper starts the hidden command, as the host does.
func TestWriteHelper(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var request bytes.Buffer
	must(t, WriteChanges(&request, root, 20, []Change{{Path: "d/f", New: becomes(ModeFile, "content")}}))
	self, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), self, WriteCommand)
	cmd.Stdin, cmd.Env = &request, []string{}
	out, err := cmd.Output()
	must(t, err)
	_, err = ReadOutcome(bytes.NewReader(out))
	must(t, err)
	if got := list(t, root); got != "d/; d/f 644 content" {
		t.Error(got)
	}
	for _, answer := range []string{"", "x", "r", "r\x01a\x09\x00", "e", "e\x05abc"} {
		if _, err := ReadOutcome(strings.NewReader(answer)); !errors.Is(err, errWire) {
			t.Errorf("%q: %v", answer, err)
		}
	}
}
