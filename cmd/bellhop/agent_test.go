package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/internal/testenv/mockllm"
	"bellhop/protocol"
)

// headless runs "bellhop agent --stdio" in this process.
type headless struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *bufio.Scanner
	stderr *bytes.Buffer
	code   chan int
}

func startHeadless(t *testing.T, args ...string) *headless {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	h := &headless{t: t, in: inWrite, out: bufio.NewScanner(outRead), stderr: &bytes.Buffer{}, code: make(chan int, 1)}
	go func() {
		code := run(context.Background(), make(chan os.Signal), append([]string{"agent", "--stdio"}, args...),
			inRead, outWrite, h.stderr)
		outWrite.Close()
		inRead.Close()
		h.code <- code
	}()
	t.Cleanup(func() {
		inWrite.Close()
		outRead.Close()
	})
	return h
}

func (h *headless) send(line string) {
	h.t.Helper()
	if _, err := io.WriteString(h.in, line+"\n"); err != nil {
		h.t.Fatal(err)
	}
}

// readUntil reads up to a line of the given type. "state" means waiting_for_input.
func (h *headless) readUntil(kind string) protocol.Line {
	h.t.Helper()
	for h.out.Scan() {
		var line protocol.Line
		if err := json.Unmarshal(h.out.Bytes(), &line); err != nil {
			h.t.Fatalf("stdout holds more than protocol: %s", h.out.Bytes())
		}
		if line.Type == kind && (kind != protocol.LineState || line.State == protocol.StateWaitingForInput) {
			return line
		}
	}
	h.t.Fatalf("ended without %s", kind)
	return protocol.Line{}
}

// waitExit reads the remaining lines and returns the exit code.
func (h *headless) waitExit() int {
	h.in.Close()
	for h.out.Scan() { // to the end
	}
	return <-h.code
}

func TestALanguageModelEditsAFile(t *testing.T) {
	const key = "sk-canary-4711"
	for _, provider := range []string{"openai", "anthropic"} {
		t.Run(provider, func(t *testing.T) {
			llm := mockllm.New(t)
			keyFile := filepath.Join(t.TempDir(), "key")
			dir := t.TempDir()
			for path, content := range map[string]string{keyFile: key + "\n", filepath.Join(dir, "README.md"): "an old text\n"} {
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("OPENAI_BASE_URL", llm.URL+"/v1")
			t.Setenv("ANTHROPIC_BASE_URL", llm.URL)
			t.Setenv(strings.ToUpper(provider)+"_API_KEY_FILE", keyFile)
			h := startHeadless(t, "--model", provider+"/mock-1", "--dir", dir, "--session-id", "s1",
				"--instructions", "be brief")
			h.send(`{"type":"input","text":"EDIT README.md old new"}`)
			question := h.readUntil(protocol.LineConfirm)
			if question.ToolName != "edit_file" || question.Prompt != "Change 1 place in README.md?" ||
				question.SessionID != "s1" {
				t.Errorf("asked %+v", question)
			}
			h.send(`{"type":"confirmation","request_id":"` + question.RequestID + `","value":true}`)
			message := h.readUntil(protocol.LineMessage)
			if *message.Content != "All done. Tool said: Changed 1 place in README.md." {
				t.Errorf("got %q", *message.Content)
			}
			if got := string(message.Metadata); got != `{"model":"`+provider+
				`/mock-1","usage":{"inputTokens":20,"outputTokens":40,"totalTokens":60}}` {
				t.Errorf("metadata %s", got)
			}
			if line := h.readUntil(protocol.LineState); line.Reason != protocol.WaitingDone {
				t.Errorf("ended with %+v", line)
			}
			if code := h.waitExit(); code != 0 {
				t.Errorf("exit code %d: %s", code, h.stderr)
			}
			if content, err := os.ReadFile(filepath.Join(dir, "README.md")); string(content) != "an new text\n" {
				t.Errorf("the file holds %q, %v", content, err)
			}
			asked := llm.Requests()[0]
			if asked.Key != key || !strings.Contains(string(asked.Body), "Working directory: "+dir) ||
				!strings.Contains(string(asked.Body), "be brief") {
				t.Errorf("asked with key %q: %s", asked.Key, asked.Body)
			}
			if strings.Contains(h.stderr.String(), key) {
				t.Errorf("the log holds the key: %s", h.stderr)
			}
		})
	}
}

// denyAll returns a policy file that denies every call.
func denyAll(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte("version: 1\nrules:\n  - name: never\n    tool: \"*\"\n    action: deny\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExitCodesOfAgentTasks(t *testing.T) {
	llm := mockllm.New(t)
	for name, c := range map[string]struct {
		args     []string
		want     int
		wantText string
	}{
		"done":   {[]string{"--task", "list"}, 0, ""},
		"failed": {[]string{"--task", "fail"}, 1, "The task ended with reason error"},
		"denied": {[]string{"--task", "write a.txt: x", "--policy", denyAll(t)}, 3, "something was denied"},
		"the model fails": {
			[]string{"--task", "FAIL400", "--model", "openai/mock-1", "--base-url", llm.URL + "/v1"},
			1,
			"The task ended with reason error",
		},
		"no key":         {[]string{"--model", "anthropic/claude"}, 1, "Set ANTHROPIC_API_KEY or ANTHROPIC_API_KEY_FILE"},
		"unknown model":  {[]string{"--model", "acme/x"}, 1, "Known are demo, anthropic/NAME"},
		"no MCP file":    {[]string{"--mcp-config", "/no/such/file"}, 2, "/no/such/file"},
		"two front ends": {[]string{"--api"}, 2, "--stdio and --api can't be used together"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY"} {
				t.Setenv(variable, "")
			}
			h := startHeadless(t, append(c.args, "--log-level", "warn")...)
			if c.args[0] == "--task" {
				h.readUntil(protocol.LineState)
			}
			if code := h.waitExit(); code != c.want || !strings.Contains(h.stderr.String(), c.wantText) {
				t.Errorf("exit code %d: %s", code, h.stderr)
			}
		})
	}
}

func TestTheAgentAPIBeyondLoopbackNeedsAToken(t *testing.T) {
	t.Setenv("BELLHOP_AGENT_TOKEN", "")
	var stderr bytes.Buffer
	code := run(t.Context(), make(chan os.Signal), []string{"agent", "--api", "--listen", "0.0.0.0", "--port", "0"},
		strings.NewReader(""), io.Discard, &stderr)
	if code != 1 || !strings.Contains(stderr.String(), "set BELLHOP_AGENT_TOKEN or BELLHOP_AGENT_TOKEN_FILE") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}
