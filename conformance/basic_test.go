package conformance

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/internal/testenv/basic"
)

// The examples are complete servers: they keep every rule.
func TestTheExampleServersConform(t *testing.T) {
	examples, err := filepath.Abs("../examples/agent-server")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "server")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, filepath.Join(examples, "server.go")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for file, command := range map[string][]string{
		"server.go":  {binary},
		"server.mjs": {"node", filepath.Join(examples, "server.mjs")},
		"server.py":  {"python3", filepath.Join(examples, "server.py")},
	} {
		t.Run(file, func(t *testing.T) {
			source, err := os.ReadFile(filepath.Join(examples, file))
			if err != nil {
				t.Fatal(err)
			}
			if n := codeLines(string(source)); n > 60 {
				t.Errorf("%d lines of code", n)
			}
			url := runExample(t, command)
			for _, c := range checkBasic(t, BasicOptions{URL: url, Password: password}).Checks {
				if c.Result != Pass {
					t.Errorf("%s: %s %q", c.Name, c.Result, c.Problems)
				}
			}
		})
	}
}

func checkBasic(t *testing.T, options BasicOptions) *Report {
	t.Helper()
	report, err := Basic(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// codeLines counts the lines that are neither blank nor a comment.
func codeLines(source string) (n int) {
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, `"""`) {
			n++
		}
	}
	return n
}

// runExample starts a program and returns its URL once it listens.
func runExample(t *testing.T, command []string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(address, ":")
	program := exec.CommandContext(t.Context(), command[0], command[1:]...)
	program.Env = append(os.Environ(), "PORT="+port, "AGENT_PASSWORD="+password)
	program.Stdout, program.Stderr = io.Discard, io.Discard
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	})
	for deadline := time.Now().Add(30 * time.Second); ; {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return "http://" + address
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v does not listen: %v", command, err)
		}
	}
}

// Each fault is found by the check that names its rule, in words that need no source.
func TestBasicFindsFaults(t *testing.T) {
	keeps := func(next http.Handler) http.Handler { return next }
	for name, c := range map[string]struct {
		check, want string
		spoil       func(http.Handler) http.Handler
	}{
		"any password opens a session": {"the password", "anyone could run the agent", func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/session" {
					r.Header.Set("Authorization", "Bearer "+password)
				}
				next.ServeHTTP(w, r)
			})
		}},
		"no token": {"a session", `must answer 200 {"token":"…"}`, func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
		}},
		"a page instead of a stream": {"a turn", "text/event-stream", func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/stream/") {
					_, _ = io.WriteString(w, "<html>")
					return
				}
				next.ServeHTTP(w, r)
			})
		}},
		"events are not repeated": {"a webhook that fails", "was not posted", keeps},
		"no finish event":         {"the end of a turn", "15 minutes", keeps},
		"no CORS":                 {"pages", "relay", keeps},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.spoil(&basic.Host{Password: password, Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}))
			t.Cleanup(server.Close)
			report := checkBasic(t, BasicOptions{URL: server.URL, Password: password, Patience: time.Second, only: []string{c.check}})
			if found, _ := json.Marshal(report.Checks); report.Passed > 0 || !strings.Contains(strings.Join(report.Checks[0].Problems, " "), c.want) {
				t.Errorf("found %s", found)
			}
		})
	}
	server := httptest.NewServer(&basic.Host{Password: password})
	t.Cleanup(server.Close)
	if report := checkBasic(t, BasicOptions{URL: server.URL, Password: password, only: []string{"the texts", "a turn", "a second turn", "the stream token"}}); report.Failed > 0 {
		t.Errorf("a basic host fails: %+v", report.Checks)
	}
}
