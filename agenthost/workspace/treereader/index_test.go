package treereader

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// indexCases are scripts that leave an index of each form.
var indexCases = []struct{ name, script string }{
	{"version 2", "git update-index --index-version 2"},
	{"version 3", "git add -N new; git update-index --index-version 3"},
	{"version 4", "git update-index --index-version 4"},
	{"version 4, changed", "git update-index --index-version 4; git rm -q --cached d/b; git add new"},
	{"long names", "touch $(printf %0200d 1) $(printf %0201d 1) $(printf %0202d 1); git add -A"},
	{"skip-worktree", "git update-index --skip-worktree d/a; git update-index --assume-unchanged d/b"},
	{"split", "git update-index --split-index; git add new; git rm -q --cached d/b; echo x>a; git add a"},
	{"split, all replaced", "git update-index --split-index; for f in a d/a d/b; do echo y>$f; done; git add -u"},
	{"split, nothing changed", "git update-index --split-index"},
	{"split of version 4", "git update-index --index-version 4; git update-index --split-index; git add new; git rm -q --cached a"},
	{"split with many entries", "for i in $(seq 300); do echo $i>f$i; done; git add -A; git update-index --split-index; git rm -q --cached $(seq -f f%g 3 7 290); git add new"},
	{"conflict", "git checkout -q -b o; echo o>a; git commit -qam o; git checkout -q -; echo m>a; git commit -qam m; git merge -q o"},
	{"untracked cache and end of entries", "git update-index --untracked-cache --force-untracked-cache; git status >/dev/null"},
	{"empty", "git rm -rq --cached ."},
	{"sparse", "git sparse-checkout set --cone --sparse-index d; echo x>new; git add new"},
	{"no checksum", "git config index.skipHash true; git add new"},
}

// TestIndex compares the entries with those that git lists.
func TestIndex(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		for _, c := range indexCases {
			t.Run(format+" "+c.name, func(t *testing.T) {
				t.Parallel()
				root := t.TempDir()
				shell(t, root, "git init -q -b main --object-format="+format+"; mkdir d e; echo a>a; echo a>d/a; echo b>d/b; echo e>e/e; "+
					"git add -A; git commit -qm first; echo n>new")
				shell(t, root, c.script)
				hashSize := 20
				if format == "sha256" {
					hashSize = 32
				}
				dir, err := openDirectory(filepath.Join(root, ".git"), func() {})
				must(t, err)
				defer dir.close()
				got, ok := repository{dir, hashSize}.readIndex(false)
				if !ok {
					t.Fatal("the index cannot be read")
				}
				sparse := ""
				if strings.Contains(c.script, "--sparse-index") {
					sparse = "--sparse"
				}
				var want []string
				for line := range strings.SplitSeq(shell(t, root, "git ls-files -s -t -z "+sparse), "\x00") {
					facts, path, ok := strings.Cut(line, "\t")
					if f := strings.Fields(facts); ok && (len(want) == 0 || !strings.HasSuffix(want[len(want)-1], "\t"+path)) {
						skip := strconv.FormatBool(f[0] == "S")
						if f[0] != "S" && f[1] != "160000" {
							f[2] = ""
						}
						if f[3] != "0" { // of a conflict only the name counts
							skip, f[1], f[2] = "conflict", "", ""
						}
						want = append(want, strings.Join([]string{skip, f[1], f[2]}, " ")+"\t"+path)
					}
				}
				if len(got) != len(want) {
					t.Fatalf("%d entries, git %d", len(got), len(want))
				}
				for i, e := range got {
					line := strconv.FormatBool(e.skipWorktree) + " " + octal(e.mode) + " " + e.id + "\t" + e.path
					if strings.HasPrefix(want[i], "conflict") {
						line = "conflict  \t" + e.path
					}
					if line != want[i] {
						t.Errorf("%q, git %q", line, want[i])
					}
				}
			})
		}
	}
}

func octal(m Mode) string {
	s := strconv.FormatUint(uint64(m), 8)
	return strings.Repeat("0", 6-len(s)) + s
}

func TestDamagedIndexes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	shell(t, root, "git init -q; for i in $(seq 5); do echo $i>f$i; done; git add -A; git update-index --index-version 4")
	whole, err := os.ReadFile(filepath.Join(root, ".git/index"))
	must(t, err)
	for length := range whole {
		if _, err := parseIndex(whole[:length:length], 20, false); err == nil && length < indexHeader+20 {
			t.Errorf("the first %d bytes are an index", length)
		}
	}
	for at := range whole {
		damaged := append([]byte(nil), whole...)
		damaged[at] ^= 0xff
		if x, err := parseIndex(damaged, 20, false); err == nil {
			x.sorted()
		}
	}
}

func FuzzIndex(f *testing.F) {
	for _, script := range []string{"true", "git update-index --index-version 4", "git update-index --split-index; git rm -q --cached b"} {
		root := f.TempDir()
		shell(f, root, "git init -q; echo a>a; echo b>b; git add -A; "+script)
		index, err := os.ReadFile(filepath.Join(root, ".git/index"))
		must(f, err)
		f.Add(index, index)
	}
	f.Fuzz(func(t *testing.T, data, shared []byte) {
		x, err := parseIndex(data, 20, true)
		if err != nil {
			return
		}
		if base, err := parseIndex(shared, 20, true); err == nil && x.shared != nil {
			x.merge(base)
		}
		for _, e := range x.sorted() {
			if len(e.path) > 2*maxPath {
				t.Errorf("a path of %d bytes", len(e.path))
			}
		}
	})
}
