package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/protocol"
)

func TestACloneIsMadeOnceAndFetched(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	run(t, shop, "branch", "next")
	projects := map[string]Project{
		"shop": {Clone: shop}, "next": {Clone: "file://" + shop, Branch: "next"}, "shared": {Clone: shop, InPlace: true},
	}
	k := open(t, projects)
	equal(t, "first", run(t, k.session("s1", "shop"), "log", "-1", "--format=%s"), "first")
	equal(t, "a branch", run(t, k.session("s2", "next"), "log", "-1", "--format=%s"), "first")
	equal(t, "in place", k.session("s3", "shared"), filepath.Join(k.data, "projects", "shared"))
	if !exists(filepath.Join(k.data, "projects", "shared", "README")) {
		t.Error("nothing is checked out")
	}
	commitIn(t, shop)
	equal(t, "fetched", run(t, k.session("s4", "shop"), "log", "-1", "--format=%s"), "work")
	must(t, os.Rename(shop, shop+"-away"))
	equal(t, "out of reach", run(t, k.session("s5", "shop"), "log", "-1", "--format=%s"), "work")
	if !strings.Contains(k.log.String(), "cannot fetch a project") {
		t.Errorf("log: %s", k.log)
	}
}

func TestACloneThatFails(t *testing.T) {
	t.Parallel()
	k := open(t, map[string]Project{
		"gone": {Clone: filepath.Join(t.TempDir(), "gone")}, "program": {Clone: "ext::sh -c true"},
		"option": {Clone: "--upload-pack=true"}, "password": {Clone: "https://ada:canary@127.0.0.1:1/shop.git"},
	})
	for _, name := range []string{"gone", "program", "option", "password"} {
		_, _, err := k.Dir(t.Context(), "s1", name)
		hint := errorHint(t, err, protocol.CodeConflict)
		if !strings.Contains(hint, "git clone") || strings.Contains(hint+err.Error(), "canary") ||
			exists(filepath.Join(k.data, "projects", name)) {
			t.Errorf("%s: %s", name, hint)
		}
	}
	if strings.Contains(k.log.String(), "canary") {
		t.Error("the log holds a password")
	}
}

func TestASlowWorkspaceIsFinishedInTheBackground(t *testing.T) {
	t.Parallel()
	k := open(t, nil)
	k.patience = time.Nanosecond
	release, err := k.locks.acquire(t.Context(), "s1")
	must(t, err)
	_, _, err = k.Dir(t.Context(), "s1", "")
	equal(t, "hint", errorHint(t, err, protocol.CodeUnavailable),
		"A first clone or checkout takes its time. Try again in a moment.")
	gone, leave := context.WithCancel(t.Context())
	leave()
	k.patience = time.Minute
	if _, _, err = k.Dir(gone, "s1", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left: %v", err)
	}
	release()
	k.session("s1", "")
}

func TestAClosedManagerStartsNoWork(t *testing.T) {
	t.Parallel()
	k := open(t, nil)
	must(t, k.Close())
	_, _, err := k.Dir(t.Context(), "s1", "")
	errorHint(t, err, protocol.CodeUnavailable)
	_, err = k.DiskUse(t.Context())
	errorHint(t, err, protocol.CodeUnavailable)
}

func TestInvalidProjectsAreRefused(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]map[string]Project{
		"both":               {"shop": {Path: "/a", Clone: "/b"}},
		"a name with a path": {"../x": {Clone: "/b"}},
		"an empty command":   {"shop": {Path: "/a", Commands: map[string][]string{"test": {}}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(Options{Data: t.TempDir(), Projects: p})
			errorHint(t, err, protocol.CodeInvalid)
		})
	}
}

func TestCommandReturnsTheProjectsCommands(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	k := open(t, map[string]Project{
		"shop": {Path: shop, Commands: map[string][]string{"test": {"make", "test"}, "lint": {"make", "lint"}}},
	})
	dir := k.session("s1", "shop")
	args, ok := k.Command(dir, "test")
	equal(t, "command", strings.Join(args, " "), "make test")
	equal(t, "commands", strings.Join(k.Commands(dir), " "), "lint test")
	equal(t, "commands outside", strings.Join(k.Commands("/"), " "), "")
	for _, c := range [][2]string{{dir, "deploy"}, {k.session("s2", ""), "test"}, {"/", "test"}} {
		if _, found := k.Command(c[0], c[1]); found || !ok {
			t.Errorf("%v has a command", c)
		}
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	plain := t.TempDir()
	k := open(t, map[string]Project{"plain": {Path: plain}})
	dir := k.session("s1", "")
	k.session("s2", "plain")
	value, long := "42", strings.Repeat("x", 4097)
	for _, path := range []string{dir, plain} {
		must(t, k.SetMetadata(t.Context(), path, "ticket", &value))
		must(t, k.SetMetadata(t.Context(), path, "gone", &value))
		must(t, k.SetMetadata(t.Context(), path, "gone", nil))
		got, err := openOn(t, k.data, map[string]Project{"plain": {Path: plain}}).Metadata(t.Context(), path)
		if err != nil || len(got) != 1 || got["ticket"] != "42" {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	errorHint(t, k.SetMetadata(t.Context(), dir, "", &value), protocol.CodeInvalid)
	errorHint(t, k.SetMetadata(t.Context(), dir, strings.Repeat("k", 65), &value), protocol.CodeInvalid)
	errorHint(t, k.SetMetadata(t.Context(), dir, "long", &long), protocol.CodeInvalid)
	errorHint(t, k.SetMetadata(t.Context(), "/", "k", &value), protocol.CodeNotFound)
	for i := range maxMetadata - 1 {
		must(t, k.SetMetadata(t.Context(), dir, "k"+strings.Repeat("i", i), &value))
	}
	errorHint(t, k.SetMetadata(t.Context(), dir, "one more", &value), protocol.CodeInvalid)
	must(t, k.Delete(t.Context(), dir, true))
	k.session("s1", "")
	if got, err := k.Metadata(t.Context(), dir); err != nil || len(got) != 0 {
		t.Errorf("a new workspace: %v, %v", got, err)
	}
}

func TestDiskUseIsCountedAtMostOnceAMinute(t *testing.T) {
	t.Parallel()
	k := open(t, nil)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	k.now = func() time.Time { return now }
	dir := k.session("s1", "")
	first, err := k.DiskUse(t.Context())
	must(t, err)
	write(t, dir, "big", strings.Repeat("x", 1<<20))
	again, err := k.DiskUse(t.Context())
	if err != nil || again != first || first == 0 {
		t.Errorf("%d, then %d, %v", first, again, err)
	}
	now = now.Add(time.Minute)
	if old, err := k.DiskUse(t.Context()); err != nil || old != first {
		t.Errorf("a caller waits: %d, %v", old, err)
	}
	k.disk.mu.Lock()
	counting := k.disk.counting
	k.disk.mu.Unlock()
	if counting != nil {
		<-counting
	}
	if later, err := k.DiskUse(t.Context()); err != nil || later != first+1<<20 {
		t.Errorf("%d, then %d, %v", first, later, err)
	}
}

func TestADamagedRecordIsSkipped(t *testing.T) {
	t.Parallel()
	k := open(t, nil)
	k.session("s1", "")
	write(t, filepath.Join(k.data, "workspaces", ".records"), "s2.json", "{")
	list, err := k.List(t.Context())
	if err != nil || len(list) != 1 || !strings.Contains(k.log.String(), "s2.json") {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestLocksOfSessionsAndRepositoriesUseDifferentFiles(t *testing.T) {
	t.Parallel()
	k := open(t, nil)
	releaseSession, err := k.locks.acquire(t.Context(), "same key")
	must(t, err)
	defer releaseSession()
	releaseRepository, err := k.repoLocks.acquire(t.Context(), "same key")
	must(t, err)
	releaseRepository()
}
