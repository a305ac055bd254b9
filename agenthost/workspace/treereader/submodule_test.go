package treereader

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestPathsOfSubmodules(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"": "",
		"[submodule \"a\"]\n\tpath = lib/a\n\turl = path = no\n[submodule \"b\"]\npath=b/\n": "b lib/a",
		"[SubModule \"a\"] PATH = \"a b\" # c\n":                                             "a b",
		"[submodule \"a\"]\n\tpath = a \\\"b\\\" ; c\n":                                      `a "b"`,
		"[core]\n\tpath = a\n":                                                               "",
		"path = a\n":                                                                         "",
		"[submodule \"a\"]\n\tpath = ../a\n":                                                 "",
		"[submodule \"a\"]\n\tpath = .git/a\n\tpath = \n":                                    "",
		"[submodule \"a\"]\n\tpath\n\tpath = a\\":                                            `a\`,
	} {
		if got := strings.Join(slices.Sorted(maps.Keys(parseModules(content))), " "); got != want {
			t.Errorf("%q names %q, want %q", content, got, want)
		}
	}
}

// The files of a repository inside are told, but for those of a submodule: that has its commit.
func TestRepositoriesInside(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	shell(t, root, `git init -q -b main; echo '/out/' >.gitignore; mkdir -p out
		make() { git init -q $1; (cd $1; echo $1 >file; echo '*.o' >.gitignore; echo x >x.o; echo file >.git/info/exclude; git add -f file; git commit -qm first); }
		for name in began named deep added committed out/ignored; do make $name; done
		make deep/er/est; git add added; git add committed named; git commit -qm links
		printf '[submodule "x"]\n\tpath = named\n\turl = ../named\n' >.gitmodules
		mkdir file-as-git; echo 'gitdir: ../deep/.git' >file-as-git/.git; echo y >file-as-git/y
		mkdir damaged; mkdir damaged/.git; echo z >damaged/z; git init -q --bare bare; mkfifo added/.git/fifo`)
	got := (&reading{Request: Request{Root: root, Submodules: []string{"began"}}}).run(t)
	var links, inner []string
	for _, k := range got.kept {
		links = append(links, k.Path)
	}
	for _, i := range got.inner {
		inner = append(inner, i.Path)
	}
	slices.Sort(links)
	slices.Sort(inner)
	if want := "began named"; strings.Join(links, " ") != want {
		t.Errorf("commits at %q, want %s", links, want)
	}
	if want := "added committed damaged deep deep/er/est file-as-git"; strings.Join(inner, " ") != want {
		t.Errorf("repositories %q, want %s", inner, want)
	}
	for _, name := range []string{"added/file", "committed/file", "deep/file", "deep/er/est/file", "file-as-git/y", "damaged/z", "bare/HEAD"} {
		if got.files[name] == "" {
			t.Errorf("%s is not told", name)
		}
	}
	for name := range got.files {
		if strings.Contains(name, ".git/") || strings.HasSuffix(name, ".o") || strings.HasPrefix(name, "out/") {
			t.Errorf("%s is told", name)
		}
	}
	if len(got.leftOut) != 0 {
		t.Errorf("left out %v", got.leftOut)
	}
}

func FuzzModules(f *testing.F) {
	f.Add("[submodule \"a\"]\n\tpath = \"a\\tb\" ; c\n")
	f.Fuzz(func(t *testing.T, content string) {
		for path := range parseModules(content) {
			if !IsPath(path) {
				t.Errorf("%q", path)
			}
		}
	})
}
