package setup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"bellhop/agenthost/setup"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// entry is one file of a package.
type entry struct {
	name, content string
	mode          int64
	kind          byte
	link          string
}

const versionScript = "#!/bin/sh\necho \"fake %s (test)\"\n"

func program(version string) []entry {
	return []entry{
		{name: "package/package.json", content: "{}", mode: 0o644},
		{name: "package/bin/fake", content: fmt.Sprintf(versionScript, version), mode: 0o4755},
		{name: "package/share/deep/file", content: "data", mode: 0o600},
	}
}

func tarball(t *testing.T, entries []entry) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	for _, e := range entries {
		if e.kind == 0 {
			e.kind = tar.TypeReg
		}
		header := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.content)), Typeflag: e.kind, Linkname: e.link}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func integrity(content []byte) string {
	sum := sha512.Sum512(content)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// testRegistry is a registry at a URL with a path. It has one agent and a cache.
type testRegistry struct {
	t         *testing.T
	dir       string
	server    *httptest.Server
	agent     setup.Agent
	platform  setup.Platform
	path      map[string]string // results of LookPath
	installer *setup.Installer

	mu       sync.Mutex
	requests []string
	answers  map[string]http.HandlerFunc
}

const (
	prefix      = "/mirror/npm"
	metadataURL = prefix + "/@fake%2ffake/1.2.3-linux-x64"
	tarballURL  = prefix + "/@fake/fake/-/fake-1.2.3-linux-x64.tgz"
)

func newTestRegistry(t *testing.T, entries []entry) *testRegistry {
	t.Helper()
	w := &testRegistry{
		t: t, dir: t.TempDir(), path: map[string]string{}, answers: map[string]http.HandlerFunc{},
		platform: setup.Platform{OS: "linux", Arch: "amd64", AVX2: true},
	}
	w.server = httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.server.Close)
	content := tarball(t, entries)
	w.agent = setup.Agent{
		Name: "fake", Title: "Fake", Version: "1.2.3", Package: "@fake/fake", Program: "fake",
		Artifacts: map[string]setup.Artifact{"linux-x64": {
			Package: "@fake/fake", Version: "1.2.3-linux-x64", Path: "bin/fake", Integrity: integrity(content),
		}},
	}
	w.answer(tarballURL, string(content))
	w.installer = w.newInstaller()
	return w
}

func (w *testRegistry) cache() *setup.Cache {
	w.t.Helper()
	cache, err := setup.Open(setup.CacheOptions{
		Dir: filepath.Join(w.dir, "cache"), Agents: []setup.Agent{w.agent}, Platform: w.platform,
		LookPath: func(name string) (string, error) {
			if path := w.path[name]; path != "" {
				return path, nil
			}
			return "", exec.ErrNotFound
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return cache
}

func (w *testRegistry) newInstaller() *setup.Installer {
	return &setup.Installer{
		Cache:    w.cache(),
		Registry: func(context.Context) (string, error) { return w.server.URL + prefix + "/", nil },
	}
}

func (w *testRegistry) serve(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.requests = append(w.requests, r.URL.EscapedPath())
	answer := w.answers[r.URL.EscapedPath()]
	w.mu.Unlock()
	if answer == nil {
		http.NotFound(rw, r)
		return
	}
	answer(rw, r)
}

func (w *testRegistry) answer(path, content string) {
	w.handle(path, func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte(content)) })
}

func (w *testRegistry) handle(path string, answer http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers[path] = answer
}

func (w *testRegistry) requestCount(path string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, request := range w.requests {
		if request == path {
			n++
		}
	}
	return n
}

// script writes a program that prints version and returns its path.
func (w *testRegistry) script(name, version string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := testenv.WriteProgram(path, fmt.Appendf(nil, versionScript, version), 0o755); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// expectNothingInstalled fails unless the cache is empty apart from lock files.
func (w *testRegistry) expectNothingInstalled() {
	w.t.Helper()
	entries, err := os.ReadDir(filepath.Join(w.dir, "cache", "fake"))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".lock" {
			w.t.Errorf("left behind: %s", e.Name())
		}
	}
	if _, err := w.cache().Find(w.t.Context(), "fake", setup.Want{}); err == nil {
		w.t.Error("found after a failed install")
	}
}

// expectError checks an error's code and the words in its message, cause and hint.
func expectError(t *testing.T, err error, code protocol.Code, words ...string) {
	t.Helper()
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("%v, want %s", err, code)
	}
	for _, word := range words {
		if !strings.Contains(err.Error()+"\n"+e.Hint, word) {
			t.Errorf("%v\n%s\nlacks %q", err, e.Hint, word)
		}
	}
}
