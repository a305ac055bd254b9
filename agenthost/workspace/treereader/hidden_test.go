package treereader

import "testing"

// hidden are ways in which a program could keep a change from git. The reader tells each.
var hidden = []struct{ name, first, then, path, want string }{
	{"assume-unchanged", "true", "git update-index --assume-unchanged f; echo changed>f", "f", "changed\n"},
	{"skip-worktree", "true", "git update-index --skip-worktree f; echo changed>f", "f", "changed\n"},
	{"size and times set back", "touch -d 2020-01-01 f", "printf 'AAAA\\n'>f; touch -d 2020-01-01 f", "f", "AAAA\n"},
	{
		"sparse pattern", "true",
		"git config core.sparseCheckout true; mkdir -p .git/info; echo /nothing >.git/info/sparse-checkout; git update-index --skip-worktree f; echo changed>f",
		"f", "changed\n",
	},
	{"sparse index", "true", "git sparse-checkout set --cone --sparse-index e; mkdir d; echo changed>d/g", "d/g", "changed\n"},
	{"sparse index, new file", "true", "git sparse-checkout set --cone --sparse-index e; mkdir d; echo new>d/new", "d/new", "new\n"},
	{"exclude", "true", "mkdir -p .git/info; echo new>>.git/info/exclude; echo new>new", "new", "new\n"},
	{"file of excluded files", "true", "git config core.excludesFile $PWD/.git/x; echo new>.git/x; echo new>new", "new", "new\n"},
	{
		"stat of the new file in the index", "true",
		"echo zzzz>f; id=$(git hash-object -w --stdin <<<aaaa); git add f; git update-index --cacheinfo 100644,$id,f; git update-index --refresh",
		"f", "zzzz\n",
	},
	{"monitor of files", "true", "git config core.fsmonitor true; git update-index --fsmonitor; git update-index --fsmonitor-valid f; echo changed>f", "f", "changed\n"},
	{"shared index gone", "true", "git update-index --split-index; rm .git/sharedindex.*; echo changed>f", "f", "changed\n"},
	{"git directory gone", "true", "rm -rf .git; echo changed>f", "f", "changed\n"},
}

func TestNothingHidesAChange(t *testing.T) {
	t.Parallel()
	for _, h := range hidden {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			shell(t, root, "git init -q -b main; mkdir d e; echo aaaa>f; echo g>d/g; echo e>e/e; git add -A; git commit -qm first; "+h.first)
			first := &reading{Request: Request{Root: root}}
			known := first.learn(first.run(t))
			shell(t, root, h.then)
			again := &reading{Request: Request{Root: root}, known: known}
			got := again.run(t)
			if got.files[h.path] != h.want {
				t.Errorf("told %q, left out %v", got.files, got.leftOut)
			}
			again.known = again.learn(got)
			if repeat := again.run(t); len(repeat.deleted) != 0 {
				t.Errorf("a repeat tells that %q are deleted", repeat.deleted)
			}
		})
	}
}
