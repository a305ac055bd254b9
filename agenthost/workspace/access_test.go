package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// writable returns what programs in a directory can write besides it.
func (k *kit) writable(dir string) string {
	k.Helper()
	access, err := k.Access(k.Context(), dir)
	must(k.T, err)
	if len(access.Write) == 0 || access.Write[0] != dir {
		k.Errorf("%v does not begin with %s", access.Write, dir)
	}
	return strings.Join(access.Write[1:], " ")
}

// A directory in place cannot make another repository writable: only that which has the directory as its work tree is.
func TestADirectoryInPlaceNamesNoOtherRepository(t *testing.T) {
	t.Parallel()
	for name, hostile := range map[string]func(t *testing.T, dir, other string){
		"a file as .git": func(t *testing.T, dir, other string) {
			t.Helper()
			must(t, os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: "+other+"\n"), 0o600))
		},
		"a link as .git": func(t *testing.T, dir, other string) {
			t.Helper()
			must(t, os.Symlink(other, filepath.Join(dir, ".git")))
		},
		"another common directory": func(t *testing.T, dir, other string) {
			t.Helper()
			must(t, os.Rename(filepath.Join(dir, "own"), filepath.Join(dir, ".git")))
			write(t, dir, ".git/commondir", other+"\n")
		},
		"a worktree of another directory": func(t *testing.T, dir, other string) {
			t.Helper()
			write(t, other, "worktrees/w/gitdir", dir+"/elsewhere/.git\n")
			write(t, other, "worktrees/w/commondir", "../..\n")
			write(t, other, "worktrees/w/HEAD", "ref: refs/heads/main\n")
			must(t, os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: "+other+"/worktrees/w\n"), 0o600))
		},
		"a repository that is linked inside": func(t *testing.T, dir, other string) {
			t.Helper()
			must(t, os.Symlink(other, filepath.Join(dir, "inside")))
			must(t, os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: "+dir+"/inside\n"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop, other := newRepository(t), filepath.Join(newRepository(t), ".git")
			k := open(t, map[string]Project{"shop": {Path: shop, InPlace: true}})
			equal(t, "before", k.writable(k.session("s1", "shop")), "")
			must(t, os.Rename(filepath.Join(shop, ".git"), filepath.Join(shop, "own")))
			hostile(t, shop, other)
			equal(t, "after", k.writable(shop), "")
		})
	}
}

// Work trees whose repository is elsewhere can commit: the repository names them.
func TestADirectoryInPlaceUsesItsRepositoryElsewhere(t *testing.T) {
	t.Parallel()
	main := newRepository(t)
	git := filepath.Join(main, ".git")
	worktree := filepath.Join(t.TempDir(), "wt")
	write(t, main, "web/index.html", "x\n")
	run(t, main, "add", ".")
	run(t, main, "commit", "--quiet", "-m", "web")
	run(t, main, "worktree", "add", "--quiet", worktree)
	super := newRepository(t)
	run(t, super, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", main, "sub")
	for name, c := range map[string]struct{ dir, want string }{
		"the repository itself":     {main, ""},
		"a directory below it":      {filepath.Join(main, "web"), git},
		"a worktree":                {worktree, git},
		"a directory of a worktree": {filepath.Join(worktree, "web"), git},
		"a submodule":               {filepath.Join(super, "sub"), filepath.Join(super, ".git", "modules", "sub")},
	} {
		k := open(t, map[string]Project{"shop": {Path: c.dir, InPlace: true}})
		equal(t, name, k.writable(k.session("s1", "shop")), c.want)
	}
}

// A repository that an agent can change has the sandbox wait for nothing, and read nothing but object directories.
func TestAlternatesOfAProjectAreObjectDirectories(t *testing.T) {
	t.Parallel()
	shop, other, closed := newRepository(t), newRepository(t), t.TempDir()
	objects := filepath.Join(shop, ".git", "objects")
	others := filepath.Join(other, ".git", "objects")
	write(t, objects, "info/alternates", others+"\n"+closed+"\n"+filepath.Join(closed, "..")+"\n")
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session("s1", "shop")
	access, err := k.Access(t.Context(), dir)
	must(t, err)
	if !slices.Equal(access.Read, []string{objects, others}) {
		t.Errorf("it reads %v", access.Read)
	}
	must(t, os.Remove(filepath.Join(objects, "info/alternates")))
	must(t, syscall.Mkfifo(filepath.Join(objects, "info/alternates"), 0o600))
	access, err = k.Access(t.Context(), dir)
	must(t, err)
	if !slices.Equal(access.Read, []string{objects}) {
		t.Errorf("it reads %v", access.Read)
	}
}
