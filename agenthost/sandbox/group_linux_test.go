package sandbox

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/internal/process"
	"bellhop/protocol"
)

// likeGroup makes a directory that looks like a control group.
func likeGroup(t *testing.T, lent, processes string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "cgroup.controllers"), []byte(lent), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(processes), 0o600))
	return dir
}

func TestLimitsAreWrittenIntoTheGroupOfASession(t *testing.T) {
	t.Parallel()
	parent := likeGroup(t, "cpuset cpu io memory pids\n", "")
	must(t, os.WriteFile(filepath.Join(parent, "memory.max"), []byte("1073741824\n"), 0o600))
	for name, c := range map[string]struct {
		limits Limits
		want   map[string]string
	}{
		"default": {Limits{}, map[string]string{"memory.max": "858993456", "pids.max": "4096", "cpu.weight": "50"}},
		"configured": {
			Limits{Memory: 1 << 30, Processes: 100, CPUWeight: 7},
			map[string]string{"memory.max": "1073741824", "pids.max": "100", "cpu.weight": "7"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, missing, err := openGroups(parent, false, "/data", c.limits)
			if err != nil || len(missing) > 0 {
				t.Fatal(missing, err)
			}
			path, err := g.add("s1")
			must(t, err)
			session := filepath.Dir(path)
			for file, want := range c.want {
				if got := readAll(filepath.Join(session, file)); got != want {
					t.Errorf("%s is %q, want %q", file, got, want)
				}
			}
			for _, dir := range []string{parent, filepath.Dir(session)} {
				if got := readAll(filepath.Join(dir, "cgroup.subtree_control")); got != "+cpu" { // the last one written
					t.Errorf("%s lends %q", dir, got)
				}
			}
			second, err := g.add("s1")
			if err != nil || filepath.Dir(second) != session || second == path {
				t.Errorf("the second program: %s, %v", second, err)
			}
		})
	}
}

func TestAGroupThatCannotBeUsedIsReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ parent, want string }{
		"it is missing":                 {filepath.Join(t.TempDir(), "none"), "cannot be written"},
		"its processes cannot be moved": {likeGroup(t, "cpu memory pids", "1\n2\n"), "cannot be divided"},
		"it is no group":                {likeGroup(t, "cpu memory pids", ""), "a program cannot join a control group"},
		"it lends too little":           {likeGroup(t, "memory", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			options := Options{GroupParent: c.parent, Self: os.Args[0], Data: t.TempDir()}
			s, err := Open(t.Context(), options)
			must(t, err)
			level := s.Level()
			if level.Groups || !strings.Contains(level.NoLimits, c.want) || !level.IsEnough() ||
				!strings.Contains(level.Summary(), "limits of no control group (") {
				t.Errorf("%s", level.Summary())
			}
			options.Limits.Mode = LimitRequired
			if _, err := Open(t.Context(), options); protocol.CodeOf(err) != protocol.CodeUnavailable {
				t.Errorf("required: %v", err)
			}
			options.Limits.Mode = LimitOff
			s, err = Open(t.Context(), options)
			must(t, err)
			if s.Level().NoLimits != "" {
				t.Errorf("off: %s", s.Level().Summary())
			}
		})
	}
}

// realGroup makes a control group of the kernel, "" where root cannot make one.
func realGroup(t *testing.T) string {
	t.Helper()
	mount, _ := groupMount(readAll("/proc/self/mountinfo"))
	if mount == "" {
		return ""
	}
	dir, err := os.MkdirTemp(mount, "bellhop-test-")
	if err != nil {
		return ""
	}
	t.Cleanup(func() { must(t, os.Remove(dir)) })
	return dir
}

// With a program ends all that it started, also what has left its process group and its environment.
func TestAllOfAProgramEndsByItsGroup(t *testing.T) {
	t.Parallel()
	parent := realGroup(t)
	if parent == "" { // the other half of the claim: the level describes the gap
		level := newMachine(t, Options{GroupParent: "/nowhere"}).sandbox.Level()
		if level.Groups || level.NoLimits == "" {
			t.Errorf("%+v", level)
		}
		return
	}
	m := newMachine(t, Options{NoNamespaces: true, GroupParent: parent})
	level, lent := m.sandbox.Level(), strings.Fields(readAll(filepath.Join(parent, "cgroup.controllers")))
	for _, c := range controllers {
		if slices.Contains(level.Limits, c.name) != slices.Contains(lent, c.name) {
			t.Errorf("the group lends %v, and the level has %v", lent, level.Limits)
		}
	}
	if !level.Groups {
		t.Fatal(level.Summary())
	}
	held := filepath.Join(m.Workspace, "held")
	must(t, syscall.Mkfifo(held, 0o600))
	p := m.start(`exec 3<>held; setsid env -i /bin/sh -c "echo ready; exec /bin/sleep 1000" & read -r x <&3`)
	reader, err := os.OpenFile(held, os.O_RDONLY, 0)
	must(t, err)
	defer reader.Close()
	_, err = p.Stdout().Read(make([]byte, 8))
	must(t, err)
	if group := groupOf(readAll("/proc/" + strconv.Itoa(p.Pid()) + "/cgroup")); !strings.Contains(group, "/session-s1/") {
		t.Errorf("the program is in the group %s", group)
	}
	must(t, p.Kill())
	if _, err := io.ReadAll(reader); err != nil { // ends with the last process that has it open
		t.Error(err)
	}
	if left, err := os.ReadDir(parent); err != nil || slices.ContainsFunc(left, os.DirEntry.IsDir) {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestEmptyGroupsOfProgramsOutsideOfTheHostAreRemoved(t *testing.T) {
	t.Parallel()
	g, _, err := openGroups(likeGroup(t, "", ""), true, "/data", Limits{})
	must(t, err)
	old, err := g.add("s1")
	must(t, err)
	longAgo := time.Now().Add(-2 * groupAge)
	must(t, os.Chtimes(old, longAgo, longAgo))
	next, err := g.add("s1")
	must(t, err)
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("the old group: %v", err)
	}
	process.RemoveGroup(next)
	if _, err := os.Stat(filepath.Dir(filepath.Dir(next))); !os.IsNotExist(err) {
		t.Errorf("the groups above: %v", err)
	}
}

func TestTheMountOfGroupsIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ mountinfo, mount, root string }{
		"alone": {
			"35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n", "/sys/fs/cgroup", "/",
		},
		"beside version 1": {
			"30 29 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n" +
				"31 29 0:27 /a /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup/unified", "/a",
		},
		"version 1 alone": {"30 29 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n", "", ""},
		"broken":          {"1 2 - cgroup2\ncgroup2\n", "", ""},
	} {
		if mount, root := groupMount(c.mountinfo); mount != c.mount || root != c.root {
			t.Errorf("%s: %q, %q", name, mount, root)
		}
	}
}

func TestLimitsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]Limits{
		"an unknown mode": {Mode: "maybe"}, "little memory": {Memory: 1 << 20}, "few processes": {Processes: 3},
		"much weight": {CPUWeight: 10001}, "a negative weight": {CPUWeight: -1},
	} {
		if _, err := Open(t.Context(), Options{Self: os.Args[0], Data: t.TempDir(), Limits: limits}); protocol.CodeOf(err) !=
			protocol.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
