package policy

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	denies = "version: 1\nrules: [{tool: 'shell:*', action: deny}]\n"
	allows = "version: 1\nrules: [{tool: 'shell:*', action: allow}]\n"
	broken = "version: 1\nrules: [{tool: 'shell:*', action: maybe}]\n"
)

// put replaces a file as editors do: it renames a new file over the old one.
func put(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

func TestRulesFollowTheirFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "policy.yaml")
		put(t, file, denies)
		var log bytes.Buffer
		l, err := Open(LiveOptions{File: file, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		var shown []bool // whether the file is wrong, as clients are shown
		l.ShowWith(func(isWrong bool) { shown = append(shown, isWrong) })
		go func() { done <- l.Run(ctx) }()

		want := func(when string, action Action, notices int) {
			t.Helper()
			time.Sleep(2 * DefaultPoll)
			synctest.Wait()
			if d := l.Decide(bash("ls")); d.Action != action || len(l.Notices()) != notices {
				t.Errorf("%s: %s, notices %q", when, d.Action, l.Notices())
			}
		}
		want("at first", Deny, 0)
		put(t, file, allows)
		want("after a change", Allow, 0)
		put(t, file, broken)
		want("after a mistake the earlier rules stay", Allow, 1)
		if n := l.Notices()[0]; !strings.Contains(n, "line 2: action must be allow or confirm or deny") ||
			!strings.Contains(n, "since 2000-01-01T") {
			t.Errorf("notice: %s", n)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		want("without a file they stay too", Allow, 1)
		put(t, file, allows)
		want("without the mistake there is no notice", Allow, 0)
		put(t, file, denies)
		want("after the mistake, changes apply again", Deny, 0)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if !slices.Equal(shown, []bool{true, false}) {
			t.Errorf("shown: %v", shown)
		}
		if n := strings.Count(log.String(), "the policy is wrong"); n != 2 {
			t.Errorf("the mistakes are logged %d times:\n%s", n, &log)
		}
	})
}

func TestASectionOfAHostsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, other := filepath.Join(dir, "host.yaml"), filepath.Join(dir, "rules.yaml")
	put(t, other, allows)
	for _, c := range []struct {
		name, content, want string
		action              Action
	}{
		{"rules in the section", "agents: {}\npolicy:\n  version: 1\n  rules: [{tool: '*', action: deny}]\n", "", Deny},
		{"the name of a file next to it", "policy: rules.yaml\n", "", Allow},
		{"no section", "agents: {}\n", "", Confirm},
		{"an empty file", "", "", Confirm},
		{
			"a mistake in the section", "agents: {}\npolicy:\n  version: 1\n  rule: []\n",
			file + `: line 4: a policy has no "rule"; known are extends, rules, timeout, version`, "",
		},
		{"a section that is empty", "policy:\n", file + ": line 1: a policy must be a mapping", ""},
		{
			"a file that does not exist", "policy: none.yaml\n",
			filepath.Join(dir, "none.yaml") + ": the policy cannot be read", "",
		},
		{
			"a folder", "policy: .\n",
			dir + ": the policy cannot be read: it is not a regular file, or is larger than 1 MiB", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			put(t, file, c.content)
			l, err := Open(LiveOptions{File: file, Section: true})
			switch {
			case c.want != "":
				if err == nil || !strings.HasPrefix(err.Error(), c.want) {
					t.Errorf("error: %v\nwant:  %s", err, c.want)
				}
			case err != nil:
				t.Error(err)
			case l.Decide(bash("ls")).Action != c.action:
				t.Errorf("%+v", l.Decide(bash("ls")))
			}
		})
	}
}

func TestAReferencedFileIsReloadedToo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, other := filepath.Join(dir, "host.yaml"), filepath.Join(dir, "rules.yaml")
	put(t, other, allows)
	put(t, file, "policy: rules.yaml\n")
	l, err := Open(LiveOptions{File: file, Section: true})
	if err != nil {
		t.Fatal(err)
	}
	put(t, other, denies)
	l.Reload()
	if d := l.Decide(bash("ls")); d.Action != Deny {
		t.Errorf("%+v", d)
	}
}

func TestWithoutAFileTheBuiltInRulesApply(t *testing.T) {
	t.Parallel()
	l, err := Open(LiveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Run(ctx); err != nil || l.Notices() != nil || l.Rules() == 0 {
		t.Errorf("%v %q", err, l.Notices())
	}
	if d, steps := l.Explain(bash("ls")); d.Rule != "default/command" || len(steps) != 1 {
		t.Errorf("%+v %+v", d, steps)
	}
}
