package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/protocol"
)

// site is a workspace whose repository, project or remote was turned against the host.
type site struct {
	*kit
	id, project string
	dir         string
	isRemote    bool // the hooks of a remote on this machine run when it gets a push
}

// steps are all that the host does with git for a session, in an order in which each finds work. A step
// that is added here is tried with every setting of the catalogue.
var steps = []struct {
	name   string
	ofOwn  bool // also for a session without a project
	shared bool // also for a directory that is used in place
	do     func(s site) error
}{
	{"begin another session", false, true, func(s site) error {
		_, _, err := s.Dir(s.Context(), "other-"+s.id, s.project)
		return err
	}},
	{"begin a session from a branch", false, false, func(s site) error {
		_, _, err := s.DirFrom(s.Context(), "from-"+s.id, s.project, "main")
		return err
	}},
	{"show the projects", true, true, func(s site) error { s.Projects(s.Context()); return nil }},
	{"fetch the commits of the session", true, true, func(s site) error { return s.Fetch(s.Context(), s.id, s.project) }},
	{"compare", true, true, func(s site) error {
		diff, err := s.Diff(s.Context(), s.id, s.project)
		if err == nil && !strings.Contains(fileLines(diff), "y.ab") {
			s.Errorf("the change is missing: %s", fileLines(diff))
		}
		return err
	}},
	{"find unfinished work", true, true, func(s site) error { _, err := s.Info(s.Context(), s.dir); return err }},
	{"list workspaces", true, true, func(s site) error { _, err := s.List(s.Context()); return err }},
	{"list files", true, true, func(s site) error { _, err := s.Paths(s.Context(), s.id, s.project, ""); return err }},
	{"discard a file", true, false, func(s site) error {
		return s.tryDiscard(s.id, s.project, "y.worse")
	}},
	{"discard a part of a file", true, false, func(s site) error {
		write(s.T, s.dir, "part.ab", "part\n")
		_, err := s.tryDiscardHunk(s.id, s.project, "part.ab", "@@ -0,0 +1 @@\n+part\n")
		return err
	}},
	{"commit", true, false, func(s site) error {
		_, err := s.tryCommit(s.id, s.project, "By the host")
		return err
	}},
	{"push", false, false, func(s site) error {
		if s.isRemote {
			return nil
		}
		_, err := s.Push(s.Context(), s.id, s.project, &protocol.PushRequest{}, nil)
		if protocol.CodeOf(err) == protocol.CodeNoRemote && s.projects[s.project].Clone == "" {
			return nil
		}
		return err
	}},
	{"fetch the commits of the remote", false, false, func(s site) error {
		_, err := s.FetchRemote(s.Context(), s.id, s.project, nil)
		if protocol.CodeOf(err) == protocol.CodeNoRemote && s.projects[s.project].Clone == "" {
			return nil
		}
		return err
	}},
	{"make a removed workspace again", true, false, func(s site) error {
		must(s.T, os.Rename(s.dir, s.dir+".away"))
		_, _, err := s.Dir(s.Context(), s.id, s.project)
		return err
	}},
	{"delete", true, false, func(s site) error { return s.Delete(s.Context(), s.dir, true) }},
}

// tryAll takes all steps, and reports what they started.
func (s site) tryAll(tr *traps) {
	s.Helper()
	shared := s.projects[s.project].InPlace
	for _, step := range steps {
		if s.project == "" && !step.ofOwn || shared && !step.shared {
			continue
		}
		if err := step.do(s); err != nil {
			s.Errorf("%s: %v\n%s", step.name, err, s.log)
		}
		if sprung := tr.sprung(); sprung != "" {
			s.Errorf("%s started: %s", step.name, sprung)
		}
	}
	if strings.Contains(s.log.String(), "cannot fetch a project") {
		s.Errorf("the project was not fetched: %s", s.log)
	}
}

// remote returns a repository with attributes and two commits.
func remote(t *testing.T) string {
	t.Helper()
	return withAttributes.copy(t)
}

var withAttributes = template{name: "remote", fill: func(t *testing.T, dir string) {
	t.Helper()
	must(t, os.Remove(dir))
	copyTree(t, newRepository(t), dir)
	write(t, dir, ".gitattributes", trapAttributes)
	write(t, dir, "x.ab", "x\n")
	write(t, dir, "x.worse", "x\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "--quiet", "-m", "second")
}}

// newCommit adds a commit without starting what the repository is armed with.
func newCommit(t *testing.T, shop string) {
	t.Helper()
	config := filepath.Join(shop, ".git", "config")
	armed, err := os.ReadFile(config)
	must(t, err)
	must(t, os.WriteFile(config, nil, 0o600))
	must(t, os.Rename(filepath.Join(shop, ".git", "hooks"), filepath.Join(shop, ".git", "hooks.away")))
	run(t, shop, "commit", "--quiet", "--allow-empty", "-m", "later")
	must(t, os.Rename(filepath.Join(shop, ".git", "hooks.away"), filepath.Join(shop, ".git", "hooks")))
	must(t, os.WriteFile(config, armed, 0o600))
}

// begun opens a session that has a commit and changes.
func begun(t *testing.T, projects map[string]Project, project string) site {
	t.Helper()
	k := open(t, projects)
	s := site{k, uuid, project, k.session(uuid, project), false}
	commitIn(t, s.dir)
	write(t, s.dir, "README", "changed\n")
	write(t, s.dir, "y.ab", "y\n")
	write(t, s.dir, "y.worse", "y\n")
	return s
}

func TestNoSettingOfARepositoryStartsAProgram(t *testing.T) {
	t.Parallel()
	ownGitDir := func(s site, _ string) string { return filepath.Join(s.dir, ".git") }
	ofProject := func(s site, _ string) string { return filepath.Join(s.projects[s.project].Path, ".git") }
	ofRemote := func(_ site, shop string) string { return filepath.Join(shop, ".git") }
	used := func(shop string) *Project { return &Project{Path: shop} }
	cloned := func(shop string) *Project { return &Project{Clone: "file://" + shop} }
	none := func(string) *Project { return nil }
	for name, c := range map[string]struct {
		project func(shop string) *Project
		inPlace bool
		armed   func(s site, shop string) string
	}{
		"a clone":                      {used, false, ownGitDir},
		"a repository of its own":      {none, false, ownGitDir},
		"the project of a clone":       {used, false, ofProject},
		"a directory in place":         {used, true, ofProject},
		"the host's clone":             {cloned, false, ofProject},
		"the host's clone, in place":   {cloned, true, ofProject},
		"a remote on the same machine": {cloned, false, ofRemote},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop, projects, project := remote(t), map[string]Project{}, ""
			if p := c.project(shop); p != nil {
				p.InPlace, project = c.inPlace, "shop"
				projects[project] = *p
			}
			s := begun(t, projects, project)
			s.isRemote = name == "a remote on the same machine"
			tr := newTraps(t, "file://"+shop)
			tr.set(c.armed(s, shop))
			if name != "a clone" {
				newCommit(t, shop)
			}
			s.tryAll(tr)
		})
	}
}

func TestNoSettingOfAWorktreeStartsAProgram(t *testing.T) {
	t.Parallel()
	shop := remote(t)
	run(t, shop, "worktree", "add", "--quiet", shop+"-two", "HEAD")
	s := begun(t, map[string]Project{"shop": {Path: shop + "-two", InPlace: true}}, "shop")
	run(t, shop, "config", "extensions.worktreeConfig", "true")
	tr := newTraps(t, "file://"+shop)
	tr.config(filepath.Join(shop, ".git", "worktrees", filepath.Base(shop)+"-two", "config.worktree"), dangers)
	tr.hooks(filepath.Join(shop, ".git", "hooks"))
	write(t, shop, ".git/info/attributes", trapAttributes)
	s.tryAll(tr)
}

// hostVariables are variables by which the environment of a process makes git start programs, read
// other settings or write elsewhere.
var hostVariables = []string{
	"GIT_SSH_COMMAND=TRAP", "GIT_SSH=TRAP", "GIT_PROXY_COMMAND=TRAP", "GIT_EXTERNAL_DIFF=TRAP", "GIT_EDITOR=TRAP",
	"GIT_SEQUENCE_EDITOR=TRAP", "GIT_PAGER=TRAP", "GIT_ASKPASS=TRAP", "SSH_ASKPASS=TRAP", "EDITOR=TRAP", "VISUAL=TRAP",
	"PAGER=TRAP", "BROWSER=TRAP", "GIT_TEMPLATE_DIR=HOOKS", "GIT_EXEC_PATH=HOOKS",
	"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=TRAP",
	"GIT_CONFIG_PARAMETERS='core.fsmonitor=TRAP'", "GIT_CONFIG=INCLUDED", "GIT_CONFIG_GLOBAL=INCLUDED",
	"GIT_CONFIG_SYSTEM=INCLUDED", "GIT_CONFIG_NOSYSTEM=0", "XDG_CONFIG_HOME=HOOKS", "GIT_ALLOW_PROTOCOL=ext:file",
	"GIT_DIR=HOOKS", "GIT_WORK_TREE=HOOKS", "GIT_COMMON_DIR=HOOKS", "GIT_INDEX_FILE=HOOKS/index", "GIT_NAMESPACE=x",
	"GIT_OBJECT_DIRECTORY=HOOKS", "GIT_ALTERNATE_OBJECT_DIRECTORIES=HOOKS", "GIT_CEILING_DIRECTORIES=/",
	"GIT_TRACE=MARK", "GIT_TRACE2=MARK", "GIT_TRACE2_EVENT=MARK", "GIT_TRACE_CURL=MARK", "GIT_TRACE_PACKET=MARK",
	"GIT_ATTR_SOURCE=HEAD", "GIT_REPLACE_REF_BASE=refs/x", "GIT_SHALLOW_FILE=HOOKS/x", "GIT_LITERAL_PATHSPECS=0",
	"GIT_DEFAULT_HASH=sha256", "GIT_PREFIX=x", "GIT_QUARANTINE_PATH=HOOKS", "GIT_SSL_NO_VERIFY=1",
}

func TestNoVariableOfTheHostReachesGit(t *testing.T) {
	shop, home := remote(t), t.TempDir()
	tr := newTraps(t, "file://"+shop)
	trap := tr.program(filepath.Join(tr.dir, "trap"), "of the environment")
	included := filepath.Join(tr.dir, "included")
	hooks := tr.hooks(filepath.Join(tr.dir, "hooks"))
	write(t, tr.dir, "included", "[core]\n\tfsmonitor = "+trap+"\n\thooksPath = "+hooks+"\n")
	words := strings.NewReplacer("TRAP", trap, "HOOKS", hooks, "INCLUDED", included, "MARK", tr.mark)
	// The test's own git needs an environment as it was, so the commits are made before.
	s := begun(t, map[string]Project{"shop": {Clone: "file://" + shop}}, "shop")
	tr.config(filepath.Join(home, ".gitconfig"), dangers)
	tr.config(filepath.Join(home, ".config", "git", "config"), dangers)
	write(t, home, ".config/git/attributes", trapAttributes)
	t.Setenv("HOME", home)
	for _, variable := range hostVariables {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, words.Replace(value))
	}
	again := openOn(t, s.data, map[string]Project{"shop": {Clone: "file://" + shop}})
	site{again, s.id, s.project, s.dir, false}.tryAll(tr)
}
