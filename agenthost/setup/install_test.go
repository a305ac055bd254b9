package setup_test

import (
	"archive/tar"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/agenthost/setup"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

func TestInstallUnpacksThePinnedPackage(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, program("1.2.3"))
	var steps []setup.Step
	var last setup.Progress
	w.installer.OnProgress = func(p setup.Progress) {
		if p.Step == setup.StepDownload {
			last = p
		}
		if len(steps) == 0 || steps[len(steps)-1] != p.Step {
			steps = append(steps, p.Step)
		}
	}
	got, fresh, err := w.installer.Install(t.Context(), "fake")
	if err != nil || !fresh {
		t.Fatal(got, fresh, err)
	}
	folder := filepath.Join(w.dir, "cache", "fake", "1.2.3")
	want := setup.Program{
		Command: []string{filepath.Join(folder, "bin", "fake")}, Version: "1.2.3", Source: setup.SourceInstalled,
	}
	if !slices.Equal(got.Command, want.Command) || got.Version != want.Version || got.Source != want.Source {
		t.Errorf("%+v, want %+v", got, want)
	}
	if !slices.Equal(steps, []setup.Step{setup.StepDownload, setup.StepUnpack, setup.StepCheck}) {
		t.Errorf("steps %v", steps)
	}
	if last.Total == 0 || last.Done != last.Total {
		t.Errorf("progress ended at %+v", last)
	}
	// The files have no setuid bit, and not the modes of the packer.
	for name, mode := range map[string]os.FileMode{"bin/fake": 0o755, "share/deep/file": 0o644} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v, want %v", name, info, err, mode)
		}
	}
	entries, _ := os.ReadDir(filepath.Dir(folder))
	if len(entries) != 2 {
		t.Errorf("beside it: %v", entries)
	}

	again, fresh, err := w.installer.Install(t.Context(), "fake")
	if err != nil || fresh || again.Path() != got.Path() {
		t.Errorf("a second install: %+v, fresh %v, %v", again, fresh, err)
	}
	requests := len(w.requests)
	if _, err := w.cache().Find(t.Context(), "fake", setup.Want{}); err != nil {
		t.Error(err)
	}
	if w.requestCount(tarballURL) != 1 || len(w.requests) != requests {
		t.Errorf("requests: %q", w.requests)
	}
}

func TestInstallErrors(t *testing.T) {
	t.Parallel()
	with := func(extra ...entry) []entry { return append(program("1.2.3"), extra...) }
	for _, c := range []struct {
		rule      string
		entries   []entry
		change    func(w *testRegistry)
		code      protocol.Code
		wantWords []string
	}{
		{
			"a package that was tampered with", program("1.2.3"),
			func(w *testRegistry) { w.answer(tarballURL, "something else") }, protocol.CodeUnavailable,
			[]string{"than the pinned one", "Nothing was installed"},
		},
		{
			"a package that is cut off", program("1.2.3"),
			func(w *testRegistry) {
				w.handle(tarballURL, func(rw http.ResponseWriter, _ *http.Request) {
					rw.Header().Set("Content-Length", "5000")
					_, _ = rw.Write([]byte("short"))
				})
			}, protocol.CodeUnavailable,
			[]string{"was interrupted", "unexpected EOF", "try again"},
		},
		{
			"a registry that falls silent", program("1.2.3"),
			func(w *testRegistry) {
				w.installer.Stall = 2 * time.Second // a busy machine sends the first bytes in this time
				w.handle(tarballURL, func(rw http.ResponseWriter, r *http.Request) {
					_, _ = rw.Write([]byte("short"))
					_ = http.NewResponseController(rw).Flush()
					<-r.Context().Done()
				})
			}, protocol.CodeUnavailable,
			[]string{"was interrupted", "sent no data for too long"},
		},
		{
			"a program that prints another version", program("1.2.4"),
			nil, protocol.CodeInvalid,
			[]string{"reports version 1.2.4, wanted is 1.2.3", "Nothing was installed"},
		},
		{
			"a program that does not run",
			[]entry{{name: "package/bin/fake", content: "#!/bin/sh\nexit 1\n", mode: 0o755}},
			nil, protocol.CodeInvalid,
			[]string{"does not run on this machine"},
		},
		{
			"a package the registry does not have", program("1.2.3"),
			func(w *testRegistry) { w.handle(tarballURL, http.NotFound) }, protocol.CodeNotFound,
			[]string{"answered 404", "npm_config_registry"},
		},
		{
			"a registry that wants credentials", program("1.2.3"),
			func(w *testRegistry) {
				w.handle(metadataURL, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusUnauthorized) })
			}, protocol.CodeUnavailable,
			[]string{"answered 401", "credentials"},
		},
		{
			"a registry that is not there", program("1.2.3"),
			func(w *testRegistry) { w.server.Close() }, protocol.CodeUnavailable,
			[]string{"cannot be reached", "npm_config_registry"},
		},
		{
			"a registry that is no URL", program("1.2.3"),
			func(w *testRegistry) {
				w.installer.Registry = func(context.Context) (string, error) { return "undefined", nil }
			}, protocol.CodeInvalid,
			[]string{"not an http or https URL"},
		},
		{
			"a platform without a pinned package", program("1.2.3"),
			func(w *testRegistry) { w.platform.Arch = "arm64"; w.installer = w.newInstaller() }, protocol.CodeInvalid,
			[]string{"not pinned for this platform (linux-arm64)", "npm install --global @fake/fake@1.2.3"},
		},
		{
			"a machine without the Node.js it needs, before anything is fetched", program("1.2.3"),
			func(w *testRegistry) { w.agent.Node = 20; w.installer = w.newInstaller() }, protocol.CodeInvalid,
			[]string{"needs Node.js 20 or newer", "on the PATH of the host"},
		},
		{
			"a file that would leave the package", with(entry{name: "package/../../../evil", mode: 0o644}), nil,
			"",
			[]string{"leads out of the package"},
		},
		{
			"a file with an absolute name", with(entry{name: "/evil", mode: 0o644}), nil,
			"",
			[]string{"leads out of the package"},
		},
		{
			"a file beside the package", with(entry{name: "evil", mode: 0o644}), nil,
			"",
			[]string{"outside the package's directory"},
		},
		{"a symbolic link", with(entry{
			name: "package/evil", kind: tar.TypeSymlink, link: "/etc",
		}), nil, "", []string{"neither a file nor a directory"}},
		{"a hard link", with(entry{
			name: "package/evil", kind: tar.TypeLink, link: "package/bin/fake",
		}), nil, "", []string{"neither a file nor a directory"}},
		{
			"a device", with(entry{name: "package/evil", kind: tar.TypeChar}), nil,
			"",
			[]string{"neither a file nor a directory"},
		},
		{"a file twice", with(entry{name: "package/bin/fake", mode: 0o755}), nil, "", []string{"exists"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			w := newTestRegistry(t, c.entries)
			if c.change != nil {
				c.change(w)
			}
			_, _, err := w.installer.Install(t.Context(), "fake")
			if c.code != "" {
				expectError(t, err, c.code, c.wantWords...)
			} else if err == nil || !strings.Contains(err.Error(), c.wantWords[0]) {
				t.Errorf("%v, want %q", err, c.wantWords[0])
			}
			w.expectNothingInstalled()
			if _, err := os.Stat(filepath.Join(w.dir, "evil")); err == nil {
				t.Error("a file came out of the cache")
			}
		})
	}
}

func TestInstallOfAnUnknownAgentListsTheKnownOnes(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, program("1.2.3"))
	_, _, err := w.installer.Install(t.Context(), "fak")
	expectError(t, err, protocol.CodeNotFound, `unknown agent "fak"`, "Known are: fake.")
}

func TestConcurrentInstallsDownloadOnce(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, program("1.2.3"))
	var wg sync.WaitGroup
	var installs atomic.Int64
	for range 4 {
		installer := w.newInstaller() // like another process
		wg.Go(func() {
			_, fresh, err := installer.Install(t.Context(), "fake")
			if err != nil {
				t.Error(err)
			}
			if fresh {
				installs.Add(1)
			}
		})
	}
	wg.Wait()
	if w.requestCount(tarballURL) != 1 || installs.Load() != 1 {
		t.Errorf("%d downloads, %d installs", w.requestCount(tarballURL), installs.Load())
	}
}

func TestAnInterruptedInstallLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, program("1.2.3"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.handle(tarballURL, func(rw http.ResponseWriter, r *http.Request) {
		_, _ = rw.Write([]byte("short"))
		_ = http.NewResponseController(rw).Flush()
		cancel()
		<-r.Context().Done()
	})
	if _, _, err := w.installer.Install(ctx, "fake"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	w.expectNothingInstalled()
}

func TestTheRemainsOfAKilledInstallAreRemoved(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, program("1.2.3"))
	home := filepath.Join(w.dir, "cache", "fake")
	// Possible remains of a killed process: its folder, and a version without its
	// marker.
	for _, name := range []string{".new-123/package/bin", "1.2.3/bin"} {
		if err := os.MkdirAll(filepath.Join(home, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := testenv.WriteProgram(filepath.Join(home, "1.2.3", "bin", "fake"), []byte("half"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := w.cache().Find(t.Context(), "fake", setup.Want{})
	expectError(t, err, protocol.CodeUnavailable, "not installed")
	if _, fresh, err := w.installer.Install(t.Context(), "fake"); err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	if _, err := os.Stat(filepath.Join(home, ".new-123")); !os.IsNotExist(err) {
		t.Errorf("the killed install's folder: %v", err)
	}
	if _, err := w.cache().Check(t.Context(), "fake"); err != nil {
		t.Error(err)
	}
}

func TestAnotherPlatformsInstallIsNotUsed(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, program("1.2.3"))
	if _, _, err := w.installer.Install(t.Context(), "fake"); err != nil {
		t.Fatal(err)
	}
	other := w.agent.Artifacts["linux-x64"]
	other.Integrity = "sha512-other"
	w.agent.Artifacts = map[string]setup.Artifact{"darwin-arm64": other}
	w.platform = setup.Platform{OS: "darwin", Arch: "arm64"}
	if got, err := w.cache().Find(t.Context(), "fake", setup.Want{}); err == nil {
		t.Errorf("found %+v", got)
	}
}

func TestAnInstallBesideStartsOfOtherProgramsRuns(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	var starters sync.WaitGroup
	for range 2 {
		starters.Go(func() {
			for ctx.Err() == nil {
				_ = exec.CommandContext(ctx, "true").Run()
			}
		})
	}
	for range 20 {
		w := newTestRegistry(t, program("1.2.3"))
		if _, _, err := w.installer.Install(t.Context(), "fake"); err != nil {
			t.Error(err)
		}
	}
	end()
	starters.Wait()
}

func TestCheckReportsAProgramThatDoesNotRun(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, program("1.2.3"))
	got, _, err := w.installer.Install(t.Context(), "fake")
	if err != nil {
		t.Fatal(err)
	}
	if err := testenv.WriteProgram(got.Path(), []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = w.cache().Check(t.Context(), "fake")
	expectError(t, err, protocol.CodeInvalid, "does not run", "bellhop agents install fake")
}
