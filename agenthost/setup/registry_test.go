package setup_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/agenthost/setup"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

func TestTarballURLsOnOtherHostsAreIgnored(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("another host was asked")
	}))
	defer other.Close()
	const odd = prefix + "/files/fake.tgz"
	for _, c := range []struct {
		rule string
		dist func(w *testRegistry) string
		want string
	}{
		{"an address on the registry's host is used", func(w *testRegistry) string { return w.server.URL + odd }, odd},
		{"an address on another host is ignored", func(*testRegistry) string { return other.URL + "/evil.tgz" }, tarballURL},
		{
			"an address with another scheme is ignored",
			func(w *testRegistry) string { return "ftp" + strings.TrimPrefix(w.server.URL, "http") + odd }, tarballURL,
		},
		{"without one the usual address is used", func(*testRegistry) string { return "" }, tarballURL},
	} {
		t.Run(c.rule, func(t *testing.T) {
			w := newTestRegistry(t, program("1.2.3"))
			w.handle(odd, w.answers[tarballURL])
			w.answer(metadataURL, `{"name":"@fake/fake","dist":{"tarball":"`+c.dist(w)+`"}}`)
			if _, _, err := w.installer.Install(t.Context(), "fake"); err != nil {
				t.Fatal(err)
			}
			if w.requestCount(metadataURL) != 1 || w.requestCount(c.want) != 1 {
				t.Errorf("asked for %q", w.requests)
			}
		})
	}
}

func TestCredentialsOfTheRegistryAreSentButNotShown(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, program("1.2.3"))
	content := w.answers[tarballURL]
	w.answer(metadataURL, `{"dist":{"tarball":"`+w.server.URL+tarballURL+`"}}`)
	w.handle(tarballURL, func(rw http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "geheim" {
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		content(rw, r)
	})
	base, _ := url.Parse(w.server.URL + prefix)
	base.User = url.UserPassword("me", "geheim")
	w.installer.Registry = func(context.Context) (string, error) { return base.String(), nil }
	if _, _, err := w.installer.Install(t.Context(), "fake"); err != nil {
		t.Fatal(err)
	}

	w = newTestRegistry(t, program("1.2.3"))
	base.Host = w.server.Listener.Addr().String()
	w.server.Close()
	w.installer.Registry = func(context.Context) (string, error) { return base.String(), nil }
	_, _, err := w.installer.Install(t.Context(), "fake")
	var e *protocol.Error
	if !errors.As(err, &e) || strings.Contains(err.Error()+e.Hint, "geheim") {
		t.Errorf("%v", err)
	}
}

func TestNPMRegistryReadsVariablesAndNPM(t *testing.T) {
	bin := t.TempDir()
	npm := "#!/bin/sh\n[ \"$*\" = 'config get registry' ] && echo https://registry.invalid/path/\n"
	if err := testenv.WriteProgram(filepath.Join(bin, "npm"), []byte(npm), 0o755); err != nil {
		t.Fatal(err)
	}
	variable := func(name, value string) func(string) string {
		return func(asked string) string {
			if asked == name {
				return value
			}
			return ""
		}
	}
	for _, c := range []struct {
		rule   string
		getenv func(string) string
		path   string
		want   string
	}{
		{"the variable wins", variable("npm_config_registry", "https://one.invalid"), bin, "https://one.invalid"},
		{"the variable in capitals wins", variable("NPM_CONFIG_REGISTRY", "https://two.invalid"), bin, "https://two.invalid"},
		{"else npm is asked", variable("", ""), bin, "https://registry.invalid/path/"},
		{"without both the error names the variable", variable("", ""), t.TempDir(), ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Setenv("PATH", c.path)
			got, err := setup.NPMRegistry(t.Context(), c.getenv)
			if c.want == "" {
				expectError(t, err, protocol.CodeInvalid, "no npm registry is configured", "Set npm_config_registry")
			} else if err != nil || got != c.want {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
		})
	}
}
