package conformance

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The examples are complete servers: they keep every rule.
func TestTheExampleServersConform(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Abs("../examples/agent-server")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "server")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, filepath.Join(examples, "server.go"))
	if out, err := build.CombinedOutput(); err != nil {
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
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(time.Minute); ; {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return "http://" + address
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v does not listen: %v", command, err)
		}
		<-again.C
	}
}
