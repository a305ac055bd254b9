package app

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/agenthost/sandbox"
	"bellhop/agenthost/workspace"
	"bellhop/internal/app/agents"
	"bellhop/internal/process"
	"bellhop/protocol"
)

func TestSandboxOfTheHostFile(t *testing.T) {
	t.Parallel()
	file, err := readHostFile(t, `
agents: {mine: {command: [/bin/true]}}
projects: {shop: /tmp}
sandbox:
  mode: required
  namespaces: false
  read: [/srv/tools]
  agents: {mine: {write: [/srv/cache]}, demo: {read: [/srv/demo]}}
  projects: {shop: {read: [/srv/shop]}}
`)
	if err != nil || file.Sandbox.Mode != sandbox.ModeRequired || !file.Sandbox.options().NoNamespaces ||
		!slices.Equal(file.Sandbox.options().Others, []string{"/srv/demo", "/srv/shop"}) ||
		!slices.Equal(file.Sandbox.options().OthersWrite, []string{"/srv/cache"}) {
		t.Errorf("%+v, %v", file.Sandbox, err)
	}
	short, err := readHostFile(t, "sandbox: off")
	if err != nil || short.Sandbox.Mode != sandbox.ModeOff {
		t.Errorf("%+v, %v", short.Sandbox, err)
	}
	for name, c := range map[string]struct{ content, want string }{
		"an unknown member":   {"sandbox: {permit: [/]}", "sandbox has no permit"},
		"of an agent's":       {"sandbox: {agents: {claude: {execute: [/]}}}", "an entry of the sandbox has no execute"},
		"a list":              {"sandbox: [required]", "sandbox is an object"},
		"an unknown agent":    {"sandbox: {agents: {other: {read: [/srv]}}}", `there is no agent "other"`},
		"an unknown project":  {"sandbox: {projects: {other: {read: [/srv]}}}", `there is no project "other"`},
		"a path for one path": {"sandbox: {read: /srv}", "cannot unmarshal"},
	} {
		if _, err := readHostFile(t, c.content); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// confinedHost is a host's sandbox with a session in a clone of a project.
type confinedHost struct {
	*hostSandbox
	t                   *testing.T
	data, shop          string
	workspace, stateDir string
	session             string
}

func newConfinedHost(t *testing.T, change func(*HostConfig)) *confinedHost {
	t.Helper()
	dir := directory(t)
	h := &confinedHost{t: t, data: filepath.Join(dir, "data"), shop: filepath.Join(dir, "shop"), session: "s1"}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main", h.shop},
		{
			"-C", h.shop, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "--allow-empty", "-m",
			"first",
		},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	c := HostConfig{
		Data: h.data, AgentsDir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
		File: HostFile{Projects: map[string]ProjectFile{"shop": {Path: h.shop}}, Agents: map[string]agents.Entry{}},
	}
	if change != nil {
		change(&c)
	}
	manager, err := workspace.New(workspace.Options{Data: h.data, Projects: c.File.workspaceProjects()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = manager.Close() })
	if h.workspace, h.stateDir, err = manager.Dir(t.Context(), "s1", "shop"); err != nil {
		t.Fatal(err)
	}
	if h.hostSandbox, err = c.openSandbox(manager, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// directory makes a directory outside /tmp, which the sandbox replaces.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "bellhop-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// shell runs a script as an agent of the session and reports whether it succeeded.
func (h *confinedHost) shell(agent, script string) bool {
	h.t.Helper()
	return h.shellIn(agent, h.workspace, script)
}

func (h *confinedHost) shellIn(agent, dir, script string) bool {
	h.t.Helper()
	var output bytes.Buffer
	child, err := h.start(agent, dir, script, &output)
	if err != nil {
		h.t.Fatal(err)
	}
	err = child.Wait()
	h.t.Logf("%s: %v %s", script, err, output.String())
	return err == nil
}

func (h *confinedHost) start(agent, dir, script string, output io.Writer) (*process.Process, error) {
	return process.Start(process.Command{
		Args: []string{"sh", "-e", "-c", script}, Dir: dir, Output: output,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.stateDir, "DATA=" + h.data, "SHOP=" + h.shop},
		Confine: func(c process.Command) (process.Command, error) {
			return h.Confine(agenthost.Confined{
				Session: h.session, Agent: agent, Project: "shop", Dir: dir, StateDir: h.stateDir,
			}, c)
		},
	})
}

func TestAnAgentWorksInItsCloneAlone(t *testing.T) {
	t.Parallel()
	h := newConfinedHost(t, nil)
	for script, want := range map[string]bool{
		`echo x >f && git add f && git -c user.name=A -c user.email=a@b commit -qm f && git log --oneline`: true,
		`echo x >"$HOME/x"`:                                   true,
		`git log main`:                                        true,
		`cat "$SHOP/.git/config"`:                             false,
		`echo x >"$SHOP/.git/hooks/pre-commit"`:               false,
		`echo x >"$SHOP/.git/objects/x"`:                      false,
		`echo x >"$SHOP/file"`:                                false,
		`ls "$DATA/workspaces" | grep -v s1`:                  false,
		`ls "$DATA/workspaces/.records"`:                      false,
		`ls "$DATA/workspaces/.mirrors/s1"`:                   false,
		`cat "$DATA"/workspaces/.records/s1.json`:             false,
		`mkdir "$DATA/state/s2"`:                              false,
		`cat /proc/` + strconv.Itoa(os.Getpid()) + `/environ`: false,
	} {
		if got := h.shell("", script); got != want {
			t.Errorf("%s: %v", script, got)
		}
	}
	if notices := h.Notices(); len(notices) != 0 {
		t.Errorf("notices %q", notices)
	}
}

func TestAnAgentsEntryOpensItsFiles(t *testing.T) {
	t.Parallel()
	login := filepath.Join(directory(t), "auth.json")
	home, shared := directory(t), directory(t)
	for _, path := range []string{login, filepath.Join(home, "x"), filepath.Join(shared, "x")} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := newConfinedHost(t, func(c *HostConfig) {
		c.File.Agents["one"] = agents.Entry{Login: login, Env: map[string]string{"HOME": home}}
		c.File.Agents["two"] = agents.Entry{Env: map[string]string{"HOME": filepath.Dir(c.Data)}}
		c.File.Sandbox.Projects = map[string]SandboxPaths{"shop": {Read: []string{shared}}}
	})
	for _, c := range []struct {
		agent, script string
		want          bool
	}{
		{"one", "echo y >" + login, true},
		{"one", "echo y >" + home + "/x", true},
		{"one", "cat " + shared + "/x", true},
		{"one", "echo y >" + shared + "/x", false},
		{"two", "cat " + login, false},
		{"two", `ls "$DATA/workspaces/.records"`, false}, // its HOME holds the host's data
	} {
		if got := h.shell(c.agent, c.script); got != c.want {
			t.Errorf("%s as %s: %v", c.script, c.agent, got)
		}
	}
}

func TestWithoutASandboxTheHostReportsIt(t *testing.T) {
	t.Parallel()
	h := newConfinedHost(t, func(c *HostConfig) { c.NoSandbox = true })
	if !h.shell("", `ls "$DATA/workspaces"`) {
		t.Error("there is a sandbox")
	}
	if notices := h.Notices(); len(notices) != 1 || !strings.Contains(notices[0], "sandbox of agents is off") {
		t.Errorf("notices %q", notices)
	}
}

func TestTheStatusShowsTheSandbox(t *testing.T) {
	t.Parallel()
	h, _ := runHost(t, t.TempDir(), nil, &providertest.Fake{})
	status, err := h.Domain.Status(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	level, ok := status.Sandbox.(sandboxStatus)
	if !ok || !level.IsEnough() || level.Refused == nil || len(status.Notices) != 0 {
		t.Errorf("%+v, notices %q", status.Sandbox, status.Notices)
	}
}

func TestPathsInTheHostsDataStopTheStart(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	for name, file := range map[string]HostFile{
		"an agent's path":   {Sandbox: SandboxFile{Agents: map[string]SandboxPaths{"claude": {Read: []string{data}}}}},
		"an agent's login":  {Agents: map[string]agents.Entry{"codex": {Login: filepath.Join(data, "auth.json")}}},
		"an agent's config": {Agents: map[string]agents.Entry{"opencode": {Config: filepath.Join(data, "opencode.json")}}},
	} {
		c := HostConfig{Data: data, AgentsDir: t.TempDir(), File: file, Log: slog.New(slog.DiscardHandler)}
		if _, err := c.openSandbox(nil, nil); protocol.CodeOf(err) != protocol.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
