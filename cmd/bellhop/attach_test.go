package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/internal/app"
)

// newTerminalHost serves one response for every request.
func newTerminalHost(t *testing.T, status int, answer any) *httptest.Server {
	t.Helper()
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method+" "+r.URL.Path != "POST /session/s1/terminal" || r.Header.Get("Authorization") != "Bearer geheim" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(host.Close)
	return host
}

func TestAttachRunsTheClientInTheWorkspace(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	host := newTerminalHost(t, http.StatusOK, agenthost.Terminal{
		Command: []string{"sh", "-c", `echo "$KEY in $PWD"; cat`}, Dir: dir, Env: []string{"KEY=value"},
	})
	dev := t.TempDir()
	content, _ := json.Marshal(app.DevFile{HostURL: host.URL, HostPassword: "geheim"})
	if err := os.WriteFile(filepath.Join(dev, "dev.json"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"of a dev":  {"attach", "--dev", dev, "s1"},
		"of a host": {"attach", "--host", host.URL + "/", "--password-file", writeSecret(t, "geheim"), "s1"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(context.Background(), make(chan os.Signal), args, strings.NewReader("typed"), &stdout, &stderr)
			if want := "value in " + dir + "\ntyped"; code != 0 || stdout.String() != want {
				t.Errorf("exit %d, %q, want %q\n%s", code, stdout.String(), want, stderr.String())
			}
		})
	}
}

func TestAttachErrors(t *testing.T) {
	here := t.TempDir()
	ok := func(command, dir string) *httptest.Server {
		return newTerminalHost(t, http.StatusOK, agenthost.Terminal{Command: []string{command}, Dir: dir})
	}
	refused := map[string]string{
		"error": "The agent demo has no terminal client", "code": "invalid", "hint": "Talk with it by bellhop chat",
	}
	for name, c := range map[string]struct {
		host     *httptest.Server
		password string
		want     []string
	}{
		"without a password": {ok("sh", here), "", []string{"no host password", "BELLHOP_HOST_PASSWORD"}},
		"a host that refuses": {
			newTerminalHost(t, http.StatusBadRequest, refused), "geheim",
			[]string{"The agent demo has no terminal client", "bellhop chat"},
		},
		"a server that is not a host": {ok("sh", here), "wrong", []string{"answered 418"}},
		"a folder on another machine": {
			ok("sh", filepath.Join(here, "none")), "geheim", []string{"is not on this machine", "bellhop chat"},
		},
		"a program on another machine": {
			ok(filepath.Join(here, "none"), here), "geheim", []string{"the agent's program", "is not on this machine"},
		},
		"a client that ends with an error": {
			ok("false", here), "geheim", []string{"the agent's terminal client: exit status 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("BELLHOP_HOST_PASSWORD", c.password)
			code, _, stderr := runCommand(t, "attach", "--host", c.host.URL, "s1")
			if code != 1 {
				t.Errorf("exit %d", code)
			}
			for _, want := range c.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, stderr)
				}
			}
		})
	}
}

func TestAttachForwardsSIGTERMButNotSIGINT(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	host := newTerminalHost(t, http.StatusOK, agenthost.Terminal{
		Command: []string{"sh", "-c", `trap 'echo ended; exit 0' TERM; touch "$0"; while :; do sleep 0.05; done`, started},
		Dir:     t.TempDir(),
	})
	signals := make(chan os.Signal)
	var stdout, stderr bytes.Buffer
	done := make(chan int)
	args := []string{"attach", "--host", host.URL, "--password-file", writeSecret(t, "geheim"), "s1"}
	go func() {
		done <- run(context.Background(), signals, args, strings.NewReader(""), &stdout, &stderr)
	}()
	signals <- syscall.SIGINT
	for deadline := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
		if _, err := os.Stat(started); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the client does not start")
		}
	}
	signals <- syscall.SIGTERM
	if code := <-done; code != 0 || stdout.String() != "ended\n" {
		t.Errorf("exit %d, %q\n%s", code, stdout.String(), stderr.String())
	}
}

func TestAttachEndsItsClientWhenAPromptTakesTheSessionOver(t *testing.T) {
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	reports := make(chan string, 100)
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch reports <- string(body); {
		case len(body) == 0:
			_ = json.NewEncoder(w).Encode(agenthost.Terminal{
				Command: []string{"sh", "-c", `touch "$0"; while :; do sleep 0.05; done`, started}, Dir: dir,
			})
		case strings.Contains(string(body), "waitSeconds"):
			for ok := false; !ok && r.Context().Err() == nil; {
				_, err := os.Stat(started)
				ok = err == nil
			}
			_, _ = io.WriteString(w, `{"takenOver":true}`)
		default:
			_, _ = io.WriteString(w, `{}`)
		}
	}))
	t.Cleanup(host.Close)
	code, _, stderr := runCommand(t, "attach", "--host", host.URL, "--password-file", writeSecret(t, "geheim"), "s1")
	close(reports)
	var got []string
	for body := range reports {
		got = append(got, body)
	}
	if want := []string{
		"", `{"attached":true,"waitSeconds":20}`, `{"closed":true}`,
	}; code != 0 || !slices.Equal(got, want) {
		t.Errorf("exit %d, reports %q, want %q", code, got, want)
	}
	if !strings.Contains(stderr, "took the session over") {
		t.Errorf("stderr %q", stderr)
	}
}
