package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// workspace is a directory with a few files, beside a file outside of it.
func workspace(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	dir := filepath.Join(top, "work")
	for name, content := range map[string]string{
		"outside.txt":      "secret\n",
		"work/README.md":   "# Lobby\n\nA small hotel.\n",
		"work/src/main.go": "package main\n",
		"work/binary":      "a\x00b",
		"work/long.txt":    strings.Repeat("0123456789abcde\n", maxFileBytes/16) + "ü and more\n",
	} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"way-out": "../outside.txt", "up": "..", "loop": "loop", "inside": "README.md",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// client drives Stdio over pipes.
type client struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	done chan error
	seen []string // every line of the agent but hello, without timestamps

	hello protocol.Line
}

var timestamp = regexp.MustCompile(`"timestamp":[0-9]+,`)

func serve(t *testing.T, opts Options) *client {
	t.Helper()
	return serveContext(t.Context(), t, opts)
}

func serveContext(ctx context.Context, t *testing.T, opts Options) *client {
	t.Helper()
	ids := 0
	if opts.NewID == nil {
		opts.NewID = func() string { ids++; return fmt.Sprintf("id-%d", ids) }
	}
	if opts.PieceDelay == 0 {
		opts.PieceDelay = time.Millisecond
	}
	if opts.Dir == "" {
		opts.Dir = workspace(t)
	}
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	c := &client{t: t, in: inWrite, out: bufio.NewReader(outRead), done: make(chan error, 1)}
	go func() {
		err := Stdio(ctx, inRead, outWrite, opts)
		_ = outWrite.Close()
		_ = inRead.Close()
		c.done <- err
	}()
	t.Cleanup(func() { // also ends everything after a failed test
		_ = inWrite.Close()
		_ = outRead.Close()
	})
	c.readHello()
	return c
}

// readHello reads the first line. A session that cannot open has none.
func (c *client) readHello() {
	c.t.Helper()
	raw, err := c.out.ReadString('\n')
	if err != nil {
		return
	}
	if err := json.Unmarshal([]byte(raw), &c.hello); err != nil || c.hello.Type != protocol.LineHello ||
		!timestamp.MatchString(raw) {
		c.t.Fatalf("the first line is %s", raw)
	}
}

// send writes one line unchanged.
func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) input(text string) {
	c.t.Helper()
	c.send(string(encode(map[string]string{"type": "input", "text": text})))
}

// next returns the agent's next line; false at the end.
func (c *client) next() (protocol.Line, bool) {
	c.t.Helper()
	raw, err := c.out.ReadString('\n')
	if err != nil {
		if raw != "" {
			c.t.Fatalf("half a line: %q", raw)
		}
		return protocol.Line{}, false
	}
	var line protocol.Line
	if err := json.Unmarshal([]byte(raw), &line); err != nil {
		c.t.Fatalf("stdout holds more than protocol: %q", raw)
	}
	untimed := timestamp.ReplaceAllString(raw, "")
	if untimed == raw {
		c.t.Errorf("no timestamp: %s", raw)
	}
	c.seen = append(c.seen, strings.TrimSuffix(untimed, "\n"))
	return line, true
}

// until reads up to a line of the type; for a state line, waiting_for_input.
func (c *client) until(types ...string) protocol.Line {
	c.t.Helper()
	for {
		line, ok := c.next()
		if !ok {
			c.t.Fatalf("ended without %v:\n%s", types, strings.Join(c.seen, "\n"))
		}
		for _, want := range types {
			if line.Type == want && (want != protocol.LineState || line.State == protocol.StateWaitingForInput) {
				return line
			}
		}
	}
}

// waiting reads to the end of the turn and checks its reason.
func (c *client) waiting(reason string) {
	c.t.Helper()
	if line := c.until(protocol.LineState); line.Reason != reason {
		c.t.Errorf("the turn ended with %q, want %q:\n%s", line.Reason, reason, strings.Join(c.seen, "\n"))
	}
}

// end closes the input, reads the remaining lines and returns Stdio's error.
func (c *client) end() error {
	c.t.Helper()
	_ = c.in.Close()
	for {
		if _, ok := c.next(); !ok {
			return <-c.done
		}
	}
}

func (c *client) ends() {
	c.t.Helper()
	if err := c.end(); err != nil {
		c.t.Errorf("ended with %v", err)
	}
}

// answered counts waiting_for_input lines among all lines.
func (c *client) answered() int {
	n := 0
	for _, line := range c.seen {
		if strings.Contains(line, `"state":"waiting_for_input"`) {
			n++
		}
	}
	return n
}
