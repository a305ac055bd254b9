package setup_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost/setup"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// installations opens what administrators install from a test's registry.
func (w *testRegistry) installations(change func(*setup.InstallationsOptions)) *setup.Installations {
	w.t.Helper()
	options := setup.InstallationsOptions{
		Installer: *w.installer, Allowed: true, File: filepath.Join(w.dir, "installations.json"), Now: time.Now,
		Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&options)
	}
	i, err := setup.OpenInstallations(options)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = i.Close() })
	return i
}

// awaited starts an installation and returns it when it has ended.
func awaited(t *testing.T, i *setup.Installations, ended <-chan struct{}) protocol.Installation {
	t.Helper()
	if _, err := i.Start("fake"); err != nil {
		t.Fatal(err)
	}
	<-ended
	return last(t, i)
}

// last returns the installation once its end is visible, right after the call of Ended.
func last(t *testing.T, i *setup.Installations) protocol.Installation {
	t.Helper()
	for {
		list := i.List().Installations
		if len(list) != 1 {
			t.Fatalf("%+v", list)
		}
		if list[0].State != protocol.InstallationRunning {
			return list[0]
		}
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnInstallationFromABrokerRunsToItsEnd(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, program("1.2.3"))
	ended := make(chan struct{}, 1)
	i := w.installations(func(o *setup.InstallationsOptions) { o.Ended = func() { ended <- struct{}{} } })
	if list := i.List(); !list.Allowed || len(list.Installations) != 0 || !i.Can("fake") || i.Can("other") {
		t.Errorf("before: %+v", list)
	}
	got := awaited(t, i, ended)
	want := []string{
		"Downloads Fake 1.2.3", "The checksum is right. Unpacks it", "Starts it once to read its version",
	}
	if got.State != protocol.InstallationInstalled || got.EndedAt == nil || !slices.Equal(got.Lines, want) ||
		got.Program != "fake" || got.Version != "1.2.3" || got.Step != "" || got.Error != "" {
		t.Errorf("%+v", got)
	}
	if _, err := w.cache().Find(t.Context(), "fake", setup.Want{}); err != nil {
		t.Error(err)
	}
	again := awaited(t, i, ended)
	if again.State != protocol.InstallationPresent || again.ID == got.ID || w.requestCount(tarballURL) != 1 {
		t.Errorf("the same version again: %+v, %d downloads", again, w.requestCount(tarballURL))
	}
	reopened := w.installations(nil)
	if kept := last(t, reopened); kept.ID != again.ID || kept.State != protocol.InstallationPresent {
		t.Errorf("after a restart: %+v", kept)
	}
}

func TestWithoutTheOperatorsLeaveNothingIsInstalled(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, program("1.2.3"))
	i := w.installations(func(o *setup.InstallationsOptions) { o.Allowed = false })
	if i.Can("fake") || i.List().Allowed {
		t.Error("it says that it can")
	}
	_, err := i.Start("fake")
	expectError(t, err, protocol.CodeForbidden, "does not let administrators", "bellhop agents install fake",
		"BELLHOP_HOST_ALLOW_INSTALLS")
	_, err = i.Cancel("fake")
	expectError(t, err, protocol.CodeForbidden, "does not let administrators")
	if len(w.requests) != 0 {
		t.Errorf("requests: %q", w.requests)
	}
	w.expectNothingInstalled()
}

func TestAFailedInstallationNamesTheRemedy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule       string
		change     func(w *testRegistry)
		code       protocol.Code
		text, hint string
	}{
		{
			"a registry that cannot be reached", func(w *testRegistry) { w.server.Close() }, protocol.CodeUnavailable,
			"the npm registry cannot be reached", "npm_config_registry",
		},
		{
			"another package than the pinned one", func(w *testRegistry) { w.answer(tarballURL, "other") },
			protocol.CodeUnavailable, "than the pinned one", "Nothing was installed",
		},
		{
			"npm missing", func(w *testRegistry) {
				w.agent.Locked, w.agent.Main = "claude-agent-acp", "main.js"
				w.installer = w.newInstaller()
				w.installer.NPM = "no-such-npm"
			}, protocol.CodeInvalid, "needs npm, which is not on the PATH", "Install Node.js",
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			w := newTestRegistry(t, program("1.2.3"))
			c.change(w)
			ended := make(chan struct{}, 1)
			i := w.installations(func(o *setup.InstallationsOptions) { o.Ended = func() { ended <- struct{}{} } })
			got := awaited(t, i, ended)
			if got.State != protocol.InstallationFailed || got.Code != c.code || !strings.Contains(got.Error, c.text) ||
				!strings.Contains(got.Hint, c.hint) {
				t.Errorf("%+v", got)
			}
			w.expectNothingInstalled()
		})
	}
}

func TestADirectoryThatCannotBeWrittenNamesTheRemedy(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, program("1.2.3"))
	// A file in the place of a directory fails for every user, also for root.
	if err := os.WriteFile(filepath.Join(w.dir, "cache"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.installer.Install(t.Context(), "fake")
	expectError(t, err, protocol.CodeInvalid, "cannot be written", "BELLHOP_AGENTS_DIR")
}

// hung has the registry send the beginning of a package. begun is closed then.
func (w *testRegistry) hung() (begun chan struct{}) {
	begun = make(chan struct{}, 8)
	w.handle(tarballURL, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Length", "5000")
		_, _ = rw.Write([]byte("short"))
		_ = http.NewResponseController(rw).Flush()
		begun <- struct{}{}
		<-r.Context().Done()
	})
	return begun
}

func TestACancelledInstallationLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, program("1.2.3"))
	begun, ended := w.hung(), make(chan struct{}, 1)
	i := w.installations(func(o *setup.InstallationsOptions) { o.Ended = func() { ended <- struct{}{} } })
	_, err := i.Cancel("fake")
	expectError(t, err, protocol.CodeNotFound, "was never installed")
	first, err := i.Start("fake")
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	second, err := i.Start("fake")
	if err != nil || second.ID != first.ID {
		t.Errorf("a second start while it runs: %+v, %v, want %s", second, err, first.ID)
	}
	if _, err := i.Cancel("fake"); err != nil {
		t.Error(err)
	}
	<-ended
	if got := last(t, i); got.State != protocol.InstallationCancelled || got.ID != first.ID || got.Error != "" {
		t.Errorf("%+v", got)
	}
	if got, err := i.Cancel("fake"); err != nil || got.State != protocol.InstallationCancelled {
		t.Errorf("a second cancel: %+v, %v", got, err)
	}
	w.expectNothingInstalled()
}

func TestAnInstallationOfAHostThatStopsHasFailed(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, program("1.2.3"))
	begun := w.hung()
	i := w.installations(nil)
	started, err := i.Start("fake")
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = i.Start("fake")
	expectError(t, err, protocol.CodeUnavailable, "stops")
	w.expectNothingInstalled()
	again := w.installations(nil)
	if got := last(t, again); got.ID != started.ID || got.State != protocol.InstallationFailed ||
		got.Error != "the host stopped during the installation" || !strings.Contains(got.Hint, "Install it again") ||
		got.EndedAt == nil {
		t.Errorf("%+v", got)
	}
}

func TestADamagedFileOfInstallationsIsReplaced(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, program("1.2.3"))
	if err := os.WriteFile(filepath.Join(w.dir, "installations.json"), []byte("[{"), 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{}, 1)
	i := w.installations(func(o *setup.InstallationsOptions) { o.Ended = func() { ended <- struct{}{} } })
	if got := awaited(t, i, ended); got.State != protocol.InstallationInstalled {
		t.Errorf("%+v", got)
	}
}

// npm is a program in the place of npm. It says what environment it got.
func (w *testRegistry) npm(script string) {
	w.t.Helper()
	w.agent.Locked, w.agent.Main = "claude-agent-acp", "main.js"
	w.installer = w.newInstaller()
	w.installer.NPM = filepath.Join(w.dir, "npm")
	w.installer.Registry = func(context.Context) (string, error) { return "https://me:geheim@registry.invalid/", nil }
	if err := testenv.WriteProgram(w.installer.NPM, []byte("#!/bin/sh\n"+script), 0o700); err != nil { //nolint:gosec // a program
		w.t.Fatal(err)
	}
}

func TestNPMGetsNoSecretOfTheHostAndItsLinesShowNone(t *testing.T) {
	w := newTestRegistry(t, nil)
	t.Setenv("ANTHROPIC_API_KEY", "canary-key")
	t.Setenv("BELLHOP_HOST_PASSWORD", "canary-password")
	w.npm(`env >"$0.env"; echo "npm http fetch GET 200 https://me:geheim@registry.invalid/a"
mkdir -p node_modules/@fake/fake; echo '{"version":"1.2.3"}' >node_modules/@fake/fake/package.json; echo >main.js`)
	var lines []string
	w.installer.OnLine = func(line string) { lines = append(lines, line) }
	if _, fresh, err := w.installer.Install(t.Context(), "fake"); err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	if want := []string{"npm http fetch GET 200 https://registry.invalid/a"}; !slices.Equal(lines, want) {
		t.Errorf("lines %q, want %q", lines, want)
	}
	got, err := os.ReadFile(w.installer.NPM + ".env")
	if err != nil || strings.Contains(string(got), "canary") || !strings.Contains(string(got), "PATH=") ||
		!strings.Contains(string(got), "npm_config_registry=https://me:geheim@") {
		t.Errorf("%s, %v", got, err)
	}
}

func TestErrorsOfNPMAreShownWithTheirLastLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		code   protocol.Code
		want   string
	}{
		"a registry that cannot be reached": {
			"echo fetching; echo 'npm error code ECONNREFUSED' >&2; echo bye; exit 1", protocol.CodeUnavailable,
			"npm printed: npm error code ECONNREFUSED",
		},
		"a full disk": {
			"echo 'npm error code ENOSPC' >&2; exit 1", protocol.CodeStorageFull, "Free some room",
		},
		"an end without a word": {"exit 1", protocol.CodeUnavailable, "npm printed: "},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestRegistry(t, nil)
			w.npm(c.script)
			_, _, err := w.installer.Install(t.Context(), "fake")
			expectError(t, err, c.code, c.want)
			w.expectNothingInstalled()
		})
	}
}

// A program that npm started must not go on after a cancelled installation.
func TestACancelledNPMEndsWithAllThatItStarted(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, nil)
	w.npm("sleep 600 & echo $!; wait")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.installer.OnLine = func(string) { cancel() }
	if _, _, err := w.installer.Install(ctx, "fake"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	w.expectNothingInstalled()
}

func TestAnInstallationWaitsForOneOfAnotherProcess(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, program("1.2.3"))
	begun := w.hung()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	other := make(chan error, 1)
	go func() {
		_, _, err := w.newInstaller().Install(ctx, "fake")
		other <- err
	}()
	<-begun
	w.installer.OnProgress = func(p setup.Progress) {
		if p.Step == setup.StepWait {
			cancel() // the other one ends
		}
	}
	waiting, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() {
		_, _, err := w.installer.Install(waiting, "fake")
		done <- err
	}()
	if err := <-other; !errors.Is(err, context.Canceled) {
		t.Errorf("the other one: %v", err)
	}
	<-begun // this one downloads after the other one's end
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
