package workspace

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost/workspace/worktreetest"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// losses change a workspace at random. %d is a number that no other step has: the content of each file has it.
var losses = []string{
	"echo token-%[1]d >new-%[1]d",
	"echo token-%[1]d >>README",
	"mkdir -p d/%[1]d; echo token-%[1]d >d/%[1]d/f",
	"echo token-%[1]d >hide; git add hide; git update-index --assume-unchanged hide; echo token-%[1]d-b >hide",
	"mkdir -p ignored; echo token-%[1]d >ignored/%[1]d",
	"mkdir -p ignored/node_modules; echo made >ignored/node_modules/f-%[1]d",
	"echo token-%[1]d >staged-%[1]d; git add staged-%[1]d; rm staged-%[1]d",
	"git add -A; git commit -q --allow-empty -m %[1]d",
	"echo token-%[1]d >c-%[1]d; git add c-%[1]d; git commit -q -m %[1]d c-%[1]d",
	"echo token-%[1]d >c-%[1]d; git add c-%[1]d; git commit -q -m %[1]d; git reset -q --hard HEAD^",
	"echo token-%[1]d >c-%[1]d; git add c-%[1]d; git commit -q --amend -m %[1]d",
	"git checkout -q -b b%[1]d 2>/dev/null; echo token-%[1]d >c-%[1]d; git add c-%[1]d; git commit -q -m %[1]d",
	"git checkout -q --detach; echo token-%[1]d >c-%[1]d; git add c-%[1]d; git commit -q -m %[1]d",
	"echo token-%[1]d >>README; git stash -q",
	"git tag t%[1]d; git tag -a -m token-%[1]d a%[1]d",
	"git init -q repo-%[1]d; echo token-%[1]d >repo-%[1]d/f",
	"mkdir -p ignored; git init -q ignored/repo-%[1]d; cd ignored/repo-%[1]d; echo token-%[1]d >f; git add f; git commit -qm %[1]d",
	"git notes add -f -m token-%[1]d HEAD",
	"git push -q origin HEAD:refs/heads/pushed-%[1]d",
	"git push -q origin --all; true %[1]d",
}

// saving leaves most workspaces with nothing that exists only there.
const saving = "rm -rf ignored repo-*; git add -A; git commit -q --allow-empty -m all; git push -q -f origin HEAD:refs/heads/saved-%[1]d --all"

var token = regexp.MustCompile(`token-[0-9]+(-b)?`)

// A workspace is removed only if each content that git or the work tree leads to is in the project or at the remote. What
// is in a workspace that is kept is named.
func TestNoContentIsLostWithAWorkspace(t *testing.T) {
	t.Parallel()
	removed := 0
	for round := range testenv.Rounds(t) {
		random := rand.New(rand.NewPCG(1, uint64(round))) //nolint:gosec // the round repeats what it does
		remote := filepath.Join(t.TempDir(), "remote.git")
		shop := newRepository(t)
		run(t, shop, "clone", "--quiet", "--bare", ".", remote)
		run(t, shop, "remote", "add", "origin", remote)
		k := open(t, map[string]Project{"shop": {Path: shop}})
		dir := k.session("s1", "shop")
		var did []string
		do := func(script string) {
			did = append(did, fmt.Sprintf(script, round*100+len(did)))
			worktreetest.Shell(t, dir, "set +e\n"+did[len(did)-1]+"\ntrue")
		}
		for range random.IntN(4) {
			do(losses[random.IntN(len(losses))])
		}
		if random.IntN(2) == 0 {
			do(saving)
		}
		lost := tokensIn(t, dir)
		list := k.only(dir)
		only, err := k.Remove(t.Context(), "s1", "")
		kept := only.Exist()
		must(t, err)
		for _, saved := range []string{shop, remote} {
			for content := range tokensIn(t, saved) {
				delete(lost, content)
			}
		}
		for content, places := range lost {
			if !kept {
				t.Fatalf("%s in %q is lost after\n%s", content, places, strings.Join(did, "\n"))
			}
			if !slices.ContainsFunc(places, func(place string) bool { return isNamed(list, place) }) {
				t.Fatalf("%s in %q is not named by %+v after\n%s", content, places, list.Items, strings.Join(did, "\n"))
			}
		}
		if !kept {
			removed++
		}
		if kept != list.Exist() {
			t.Fatalf("kept %v with %+v", kept, list.Items)
		}
	}
	if removed == 0 {
		t.Error("every workspace was kept")
	}
}

// tokensIn returns the tokens that a directory has, with the paths of their files, or ".git" if git leads to them.
func tokensIn(t *testing.T, dir string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() == ".git" && filepath.Dir(path) == dir || strings.HasSuffix(dir, ".git") {
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, found := range token.FindAllString(string(content), -1) {
			name, _ := filepath.Rel(dir, path)
			all[found] = append(all[found], name)
		}
		return err
	}))
	script := "git rev-list --objects --no-object-names --all --reflog HEAD --indexed-objects | git cat-file --batch"
	for _, found := range token.FindAllString(worktreetest.Shell(t, dir, script), -1) {
		all[found] = append(all[found], ".git")
	}
	return all
}

// isNamed reports whether a list names a place of contents.
func isNamed(list *protocol.OnlyCopies, place string) bool {
	return slices.ContainsFunc(list.Items, func(item protocol.OnlyCopy) bool {
		switch item.Kind {
		case protocol.OnlyChanged, protocol.OnlyHidden, protocol.OnlyIgnored:
			return item.Name == place || strings.HasSuffix(item.Name, "/") && strings.HasPrefix(place, item.Name)
		case protocol.OnlyRepository:
			return strings.HasPrefix(place, item.Name+"/")
		}
		return place == ".git"
	})
}
