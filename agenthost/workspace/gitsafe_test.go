package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/internal/testenv"
)

// danger is one way in which settings make git start a program. TRAP stands for a program that leaves
// a mark, HOOKS for a directory of such hooks, INCLUDED for a file of settings that name TRAP.
type danger struct {
	settings []string // "key=value"; the first names the danger
	control  string   // a command by which git does start TRAP; "" = it needs a terminal or a server
}

// Commands that the controls share.
const (
	askForPassword = `printf 'protocol=http\nhost=h\nusername=u\n\n' | git credential fill`
	addFile        = "echo other >> README && git add README"
	commitNothing  = "git commit --allow-empty -m second"
)

// dangers is the catalogue of settings that start programs. Every key of "git help --config" that looks
// like one of them is here, in redirects or in unused: TestEverySettingOfGitIsKnown.
var dangers = []danger{
	{[]string{"core.fsmonitor=TRAP"}, "git status"},
	{[]string{"core.hooksPath=HOOKS"}, commitNothing},
	{[]string{"core.editor=TRAP"}, "git commit --amend"},
	{[]string{"sequence.editor=TRAP"}, "git rebase -i --root"},
	{[]string{"core.pager=TRAP"}, ""},
	{[]string{"pager.log=TRAP", "pager.diff=TRAP", "pager.status=TRAP", "pager.branch=TRAP", "pager.config=TRAP"}, ""},
	{[]string{"core.askPass=TRAP"}, askForPassword},
	{[]string{"core.sshCommand=TRAP"}, "git ls-remote ssh://h/x"},
	{[]string{"core.gitProxy=TRAP"}, "git ls-remote git://h/x"},
	{[]string{"core.alternateRefsCommand=TRAP"}, "git fetch origin"},
	{[]string{"credential.helper=!TRAP"}, askForPassword},
	{[]string{"credential.http://h.helper=!TRAP"}, askForPassword},
	{[]string{"diff.external=TRAP"}, "echo other >> README; git diff"},
	{[]string{"diff.bad.command=TRAP"}, "echo other >> README; git diff"},
	{[]string{"diff.bad.textconv=TRAP"}, "echo other >> README; git diff"},
	{[]string{"difftool.bad.cmd=TRAP", "diff.tool=bad", "diff.guitool=bad"}, "echo x >> README; git difftool --no-prompt"},
	{[]string{"merge.bad.driver=TRAP"}, "git merge --no-edit origin/other"},
	{[]string{"mergetool.bad.cmd=TRAP", "merge.tool=bad", "merge.guitool=bad"}, ""},
	{[]string{"filter.bad.clean=TRAP", "filter.bad.required=true"}, addFile},
	{[]string{"filter.a=b.smudge=TRAP"}, "rm x.ab; git checkout -- x.ab"},
	{[]string{"filter.worse.process=TRAP"}, "echo x > x.worse; git add x.worse"},
	{[]string{"gpg.program=TRAP", "commit.gpgSign=true"}, commitNothing},
	{[]string{"gpg.openpgp.program=TRAP", "tag.gpgSign=true"}, "git tag -m x v1"},
	{[]string{"gpg.x509.program=TRAP", "gpg.format=x509", "commit.gpgSign=true"}, commitNothing},
	{[]string{"gpg.ssh.program=TRAP", "gpg.format=ssh", "user.signingKey=key::x", "commit.gpgSign=true"}, commitNothing},
	{[]string{"gpg.ssh.defaultKeyCommand=TRAP", "gpg.format=ssh", "commit.gpgSign=true"}, commitNothing},
	{[]string{"log.showSignature=true", "merge.verifySignatures=true", "push.gpgSign=true"}, ""},
	{[]string{"remote.origin.uploadpack=TRAP"}, "git fetch origin"},
	{[]string{"remote.origin.receivepack=TRAP"}, "git push origin HEAD:x"},
	{[]string{"remote.evil.vcs=ext", "remote.evil.url=TRAP", "protocol.ext.allow=always"}, "git fetch evil"},
	{[]string{"remote.URL.vcs=ext", "remote.URL.url=TRAP", "protocol.ext.allow=always"}, "git fetch URL"},
	{[]string{"remote.URL.uploadpack=TRAP"}, "git fetch URL"},
	{[]string{"remote.URL.receivepack=TRAP"}, "git push URL HEAD:x"},
	{[]string{"url.ext::TRAP .insteadOf=URL", "protocol.ext.allow=always"}, "git fetch URL"},
	{[]string{"url.ext::TRAP .pushInsteadOf=URL", "protocol.ext.allow=always"}, "git push URL HEAD:x"},
	{[]string{"uploadpack.packObjectsHook=TRAP"}, ""},
	{[]string{"include.path=INCLUDED"}, "git status"},
	{[]string{"includeIf.gitdir:/**.path=INCLUDED"}, "git status"},
	{[]string{"alias.status=!TRAP", "alias.trap=!TRAP"}, "git trap"},
	{[]string{"trailer.bad.command=TRAP", "trailer.bad.key=Bad"}, "git interpret-trailers --trailer bad=x < README"},
	{[]string{"trailer.worse.cmd=TRAP", "trailer.worse.key=Worse"}, "git interpret-trailers --trailer worse=x < README"},
	{[]string{"interactive.diffFilter=TRAP"}, ""},
	{[]string{"submodule.inner.update=!TRAP", "submodule.inner.active=true", "submodule.recurse=true"}, ""},
	{[]string{"fetch.recurseSubmodules=true", "push.recurseSubmodules=on-demand", "diff.submodule=diff"}, ""},
	{[]string{"status.submoduleSummary=true", "submodule.propagateBranches=true"}, ""},
	{[]string{"gc.auto=1", "gc.autoDetach=false", "gc.recentObjectsHook=TRAP", "maintenance.auto=true"}, ""},
	{[]string{"receive.procReceiveRefs=refs", "receive.autogc=true"}, ""},
	{[]string{"init.templateDir=HOOKS"}, ""},
	{[]string{"hook.bad.command=TRAP", "hook.bad.event=pre-commit"}, ""}, // known to git from 2.54 on
}

// trapAttributes make git look for the drivers of the catalogue.
const trapAttributes = "* filter=bad diff=bad merge=bad\n*.ab filter=a=b\n*.worse filter=worse\n"

// trapHooks are all hooks that git starts by itself.
var trapHooks = []string{
	"applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-checkout", "post-commit", "post-index-change",
	"post-merge", "post-receive", "post-rewrite", "post-update", "pre-applypatch", "pre-auto-gc", "pre-commit",
	"pre-merge-commit", "pre-push", "pre-rebase", "pre-receive", "prepare-commit-msg", "proc-receive",
	"push-to-checkout", "reference-transaction", "sendemail-validate", "update",
}

// traps are programs that leave their name in one file when they are started.
type traps struct {
	*testing.T
	dir, mark string
	url       string // stands for URL in the catalogue
}

func newTraps(t *testing.T, url string) *traps {
	t.Helper()
	dir := t.TempDir()
	return &traps{t, dir, filepath.Join(dir, "mark"), url}
}

// program writes a program that leaves name.
func (tr *traps) program(path, name string) string {
	tr.Helper()
	must(tr.T, os.MkdirAll(filepath.Dir(path), 0o700))
	text := "#!/bin/sh\necho '" + name + "' >> '" + tr.mark + "'\nexit 1\n"
	must(tr.T, testenv.WriteProgram(path, []byte(text), 0o700)) //nolint:gosec // a program
	return path
}

func (tr *traps) hooks(dir string) string {
	tr.Helper()
	for _, hook := range trapHooks {
		tr.program(filepath.Join(dir, hook), "hook "+hook)
		tr.program(filepath.Join(dir, "hooks", hook), "hook "+hook) // of a template
	}
	return dir
}

// pairs returns the settings of a danger with paths in the place of the words.
func (tr *traps) pairs(h danger) (pairs [][2]string) {
	tr.Helper()
	name := h.settings[0]
	trap := tr.program(filepath.Join(tr.dir, shortHash(name)), name)
	included := filepath.Join(tr.dir, shortHash(name)+".included")
	must(tr.T, os.WriteFile(included, []byte("[core]\n\tfsmonitor = "+trap+"\n"), 0o600))
	hooks := tr.hooks(filepath.Join(tr.dir, "hooks"))
	words := strings.NewReplacer("TRAP", trap, "HOOKS", hooks, "INCLUDED", included, "URL", tr.url)
	for _, setting := range h.settings {
		at := strings.LastIndexByte(setting, '=')
		pairs = append(pairs, [2]string{words.Replace(setting[:at]), words.Replace(setting[at+1:])})
	}
	return pairs
}

// config writes the settings of all dangers into a file of git's configuration.
func (tr *traps) config(file string, all []danger) {
	tr.Helper()
	must(tr.T, os.MkdirAll(filepath.Dir(file), 0o700))
	before, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		tr.Fatal(err)
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	text := string(before) + "\n"
	for _, h := range all {
		for _, pair := range tr.pairs(h) {
			section, rest, _ := strings.Cut(pair[0], ".")
			if at := strings.LastIndexByte(rest, '.'); at >= 0 {
				section, rest = section+` "`+quote.Replace(rest[:at])+`"`, rest[at+1:]
			}
			text += "[" + section + "]\n\t" + rest + ` = "` + quote.Replace(pair[1]) + "\"\n"
		}
	}
	must(tr.T, os.WriteFile(file, []byte(text), 0o600))
}

// set arms a git directory with all dangers, hooks and attributes.
func (tr *traps) set(gitDir string) {
	tr.Helper()
	tr.config(filepath.Join(gitDir, "config"), dangers)
	tr.hooks(filepath.Join(gitDir, "hooks"))
	write(tr.T, gitDir, "info/attributes", trapAttributes)
}

// sprung returns what has been started, and forgets it.
func (tr *traps) sprung() string {
	tr.Helper()
	content, err := os.ReadFile(tr.mark)
	if os.IsNotExist(err) {
		return ""
	}
	must(tr.T, err)
	must(tr.T, os.Remove(tr.mark))
	return strings.TrimSpace(string(content))
}

// Each setting of the catalogue that has a control starts its program when git runs without the host's
// precautions. Otherwise the other tests would hold for a misspelt setting.
func TestSettingsOfTheCatalogueStartPrograms(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	write(t, shop, ".gitattributes", trapAttributes)
	write(t, shop, "x.ab", "x\n")
	run(t, shop, "add", ".")
	run(t, shop, "commit", "--quiet", "-m", "attributes")
	run(t, shop, "branch", "other")
	for _, branch := range []string{"main", "other"} {
		run(t, shop, "checkout", "--quiet", branch)
		write(t, shop, "README", branch+"\n")
		run(t, shop, "commit", "--quiet", "-am", branch)
	}
	run(t, shop, "checkout", "--quiet", "main")
	clone := filepath.Join(t.TempDir(), "clone")
	run(t, filepath.Dir(clone), "clone", "--quiet", "--shared", shop, clone)
	for _, h := range dangers {
		if h.control == "" {
			continue
		}
		t.Run(h.settings[0], func(t *testing.T) {
			t.Parallel()
			dir, url := filepath.Join(t.TempDir(), "copy"), "file://"+shop
			copyTree(t, clone, dir)
			tr := newTraps(t, url)
			tr.config(filepath.Join(dir, ".git", "config"), []danger{h})
			cmd := exec.Command("sh", "-c", strings.ReplaceAll(h.control, "URL", url))
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
				"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org")
			out, _ := cmd.CombinedOutput() // TRAP fails, so git does too
			if tr.sprung() == "" {
				t.Errorf("%s started nothing:\n%s", h.control, out)
			}
		})
	}
}
