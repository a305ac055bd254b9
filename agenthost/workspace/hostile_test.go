package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/internal/testenv"
)

// tryRun runs git, which may fail.
func tryRun(dir string, args ...string) error {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=Ada",
		"GIT_COMMITTER_EMAIL=a@example.org")
	return cmd.Run()
}

// setTraps configures every program that a repository can make git start. If git starts
// one of them, that writes into the file whose path setTraps returns.
func setTraps(t *testing.T, dir string) string {
	t.Helper()
	sprung := filepath.Join(t.TempDir(), "sprung")
	trap := filepath.Join(t.TempDir(), "trap")
	must(t, testenv.WriteProgram(trap, []byte("#!/bin/sh\necho \"$0 $*\" >> "+sprung+"\ncat\n"), 0o700)) //nolint:gosec // a program
	included := filepath.Join(t.TempDir(), "included")
	must(t, os.WriteFile(included, []byte("[core]\n\tfsmonitor = "+trap+"\n"), 0o600))
	gitDir := run(t, dir, "rev-parse", "--path-format=absolute", "--git-common-dir")
	for _, hook := range []string{
		"post-checkout", "pre-commit", "post-commit", "reference-transaction", "post-index-change", "fsmonitor-watchman",
		"post-rewrite", "pre-auto-gc",
	} {
		path := filepath.Join(gitDir, "hooks", hook)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		content, err := os.ReadFile(trap)
		must(t, err)
		must(t, testenv.WriteProgram(path, content, 0o700)) //nolint:gosec // a program
	}
	settings := ""
	for name, value := range map[string]string{
		"core.fsmonitor": trap, "core.pager": trap, "core.editor": trap, "core.sshCommand": trap, "core.askPass": trap,
		"core.gitProxy": trap, "url.ext::" + trap + ".insteadOf": "/", "remote.origin.url": "ext::" + trap,
		"include.path": included, "uploadpack.packObjectsHook": trap, "core.hooksPath": filepath.Join(gitDir, "hooks"),
		"diff.external": trap, "core.alternateRefsCommand": trap, "diff.bad.textconv": trap, "diff.bad.command": trap,
		"credential.helper": "!" + trap, "gpg.program": trap, "commit.gpgSign": "true", "filter.bad.clean": trap,
		"filter.bad.smudge": trap, "filter.bad.process": trap, "filter.bad.required": "true",
		"filter.a=b.clean": trap, "filter.a=b.smudge": trap,
	} {
		settings += formatSetting(name, value)
	}
	config := filepath.Join(gitDir, "config")
	must(t, os.WriteFile(config, append(mustRead(t, config), settings...), 0o600))
	must(t,
		os.WriteFile(filepath.Join(gitDir, "info", "attributes"), []byte("* filter=bad diff=bad\n*.ab filter=a=b\n"), 0o600))
	return sprung
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	return content
}

func TestHostileRepositoriesStartNoProgram(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	write(t, shop, "x.ab", "x\n")
	run(t, shop, "add", ".")
	run(t, shop, "commit", "--quiet", "-m", "second")
	must(t, os.MkdirAll(filepath.Join(shop, ".git", "info"), 0o700))
	sprung := setTraps(t, shop)
	must(t, os.RemoveAll(sprung))
	k := open(t, map[string]Project{"shop": {Path: shop}, "shared": {Path: shop, InPlace: true}, "copy": {Clone: shop}})
	for id, project := range map[string]string{"s1": "shop", "s2": "shared", "s3": "copy", "s4": ""} {
		dir := k.session(id, project)
		if project != "shared" {
			must(t, os.MkdirAll(filepath.Join(dir, ".git", "info"), 0o700))
			own := setTraps(t, dir)
			defer func() {
				if content, _ := os.ReadFile(own); len(content) > 0 {
					t.Errorf("sprung in the workspace of %s: %s", id, content)
				}
			}()
		}
		write(t, dir, "README", "changed\n")
		write(t, dir, "y.ab", "y\n")
		if got := fileLines(k.diff(id, project)); !strings.Contains(got, "README") || !strings.Contains(got, "y.ab") {
			t.Errorf("%s: %s", id, got)
		}
		if _, err := k.Info(t.Context(), dir); err != nil {
			t.Error(err)
		}
		if project != "shared" {
			done := k.commit(id, project, "Work")
			if got := string(mustRead(t, filepath.Join(dir, "y.ab"))); got != "y\n" || done.Files < 2 {
				t.Errorf("%s: committed %+v, %q", id, done, got)
			}
			must(t, k.tryDiscard(id, project, "README", "y.ab", "x.ab"))
			must(t, k.Delete(t.Context(), dir, true))
			k.session(id, project)
		}
	}
	if content, _ := os.ReadFile(sprung); len(content) > 0 {
		t.Errorf("sprung: %s", content)
	}
}

func TestFetchUsesTheConfiguredURL(t *testing.T) {
	t.Parallel()
	shop, evil := newRepository(t), newRepository(t)
	write(t, evil, "evil.txt", "evil\n")
	run(t, evil, "add", ".")
	run(t, evil, "commit", "--quiet", "-m", "evil")
	k := open(t, map[string]Project{"shop": {Clone: shop}})
	dir := k.session("s1", "shop")
	run(t, dir, "config", "remote.origin.url", evil)
	run(t, dir, "config", "remote.origin.uploadpack", "touch "+filepath.Join(k.data, "sprung")+"; git-upload-pack")
	if exists(filepath.Join(k.session("s2", "shop"), "evil.txt")) || exists(filepath.Join(k.data, "sprung")) {
		t.Error("the clone's own configuration was followed")
	}
	run(t, dir, "config", "url.ext::sh -c touch% "+filepath.Join(k.data, "sprung")+"% .insteadOf", filepath.Dir(shop))
	k.session("s3", "shop")
	if exists(filepath.Join(k.data, "sprung")) {
		t.Error("an address that is a program was followed")
	}
}

func TestDotGitFilesAreNotFollowed(t *testing.T) {
	t.Parallel()
	shop, other := newRepository(t), newRepository(t)
	write(t, other, "secret.txt", "secret\n")
	run(t, other, "add", ".")
	run(t, other, "commit", "--quiet", "-m", "secret")
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session("s1", "shop")
	must(t, os.RemoveAll(filepath.Join(dir, ".git")))
	must(t, os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: "+filepath.Join(other, ".git")+"\n"), 0o600))
	write(t, dir, "work.txt", "work\n")
	equal(t, "diff", fileLines(k.diff("s1", "shop")), "added work.txt")
	k.session("s1", "shop")
	equal(t, "diff of a repository made again", fileLines(k.diff("s1", "shop")), "added work.txt")
	must(t, k.Delete(t.Context(), dir, true))
	equal(t, "the other", run(t, other, "status", "--porcelain"), "")
}

func TestSubmodulesAreNotEntered(t *testing.T) {
	t.Parallel()
	inner, shop := newRepository(t), newRepository(t)
	run(t, shop, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "inner")
	run(t, shop, "commit", "--quiet", "-m", "inner")
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session("s1", "shop")
	equal(t, "not filled", fileLines(k.diff("s1", "shop")), "")
	run(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
	sprung := filepath.Join(t.TempDir(), "sprung")
	run(t, filepath.Join(dir, "inner"), "config", "core.fsmonitor", "touch "+sprung)
	write(t, dir, "inner/README", "changed\n")
	equal(t, "changes within", fileLines(k.diff("s1", "shop")), "")
	info, err := k.Info(t.Context(), dir)
	must(t, err)
	if !info.Dirty {
		t.Error("a filled submodule must count as work")
	}
	if exists(sprung) {
		t.Error("a program of the submodule was started")
	}
	run(t, filepath.Join(dir, "inner"), "-c", "core.fsmonitor=false", "commit", "--quiet", "-am", "second")
	equal(t, "another commit", fileLines(k.diff("s1", "shop")), "modified inner")
}

// An agent that still runs while its git directory is restored puts a link in its place:
// the host's git must not write where that leads.
func TestARestoredGitDirectoryIsNotBuiltInTheAgentsReach(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	gitDir, elsewhere := filepath.Join(dir, ".git"), t.TempDir()
	for range 8 {
		must(t, os.RemoveAll(gitDir))
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					_ = os.Symlink(elsewhere, gitDir)
				}
			}
		}()
		_, _, _ = k.Dir(t.Context(), uuid, "shop") // it fails when the link is there first
		close(stop)
		<-stopped
		if names, err := filepath.Glob(filepath.Join(elsewhere, "*")); err != nil || len(names) > 0 {
			t.Fatalf("written elsewhere: %v, %v", names, err)
		}
	}
	must(t, os.RemoveAll(gitDir))
	run(t, k.session(uuid, "shop"), "status")
}
