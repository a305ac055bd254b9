package claude_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// playFake is the variable that makes this test binary a Claude Code which plays a
// script: the file of that name. If there is a file with this name and the number
// of the start as its extension, that file is played. The lines of a script:
//
//	<            wait for a line from the host
//	{…}          send this; ${PROMPT} is the id of the last prompt, ${CONTROL} of
//	             the last control request, ${SESSION} the session of the arguments
//	raw: …       send this unchanged
//	big: N       send a line of N bytes
//	err: …       write this to stderr
//	exit: N      exit
//	<?           wait for a line or for the end of the input
//	no-signals   ignore all signals but SIGKILL from here on
//	hang         ignore signals and input from here on
//
// After its last line the script waits for the end of the input. It begins with the
// handshake, unless its first line is "no-handshake".
const playFake = "CLAUDE_TEST_FAKE"

// life is one start of the fake.
type life struct {
	Args []string `json:"args"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
}

func fake() {
	home := os.Getenv("HOME")
	dir, _ := os.Getwd()
	started := filepath.Join(home, "started")
	note(started, life{Args: os.Args[1:], Env: os.Environ(), Dir: dir})
	script := os.Getenv(playFake)
	lives, _ := os.ReadFile(started)
	if next := script + "." + strconv.Itoa(bytes.Count(lives, []byte("\n"))); exists(next) {
		script = next
	}
	text, err := os.ReadFile(script)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	p := &player{in: bufio.NewReader(os.Stdin), received: filepath.Join(home, "received"), ids: map[string]string{}}
	if i := slices.IndexFunc(os.Args, func(a string) bool { return a == "--resume" || a == "--session-id" }); i >= 0 {
		p.ids["${SESSION}"] = os.Args[i+1]
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if lines[0] != "no-handshake" {
		p.receive()
		p.send(`{"type":"control_response","response":{"subtype":"success","request_id":"${CONTROL}","response":{"commands":[]}}}`)
	}
	for _, line := range lines {
		p.step(line)
	}
	_, _ = io.Copy(io.Discard, p.in)
}

type player struct {
	in       *bufio.Reader
	received string
	ids      map[string]string
}

func (p *player) step(line string) {
	verb, rest, _ := strings.Cut(line, ": ")
	switch verb {
	case "<":
		p.receive()
	case "raw":
		fmt.Println(rest)
	case "big":
		n, _ := strconv.Atoi(rest)
		fmt.Println(strings.Repeat("x", n))
	case "err":
		fmt.Fprintln(os.Stderr, rest)
	case "exit":
		code, _ := strconv.Atoi(rest)
		os.Exit(code)
	case "<?":
		_, _ = p.in.ReadBytes('\n')
	case "no-signals":
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
	case "hang":
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
		never := make(chan os.Signal, 1)
		signal.Notify(never, syscall.SIGUSR1)
		<-never
	case "no-handshake":
	default:
		p.send(line)
	}
}

func (p *player) send(line string) {
	for name, id := range p.ids {
		line = strings.ReplaceAll(line, name, id)
	}
	fmt.Println(line)
}

// receive reads one line from the host. The program exits at the end of its input.
func (p *player) receive() {
	raw, err := p.in.ReadBytes('\n')
	if err != nil {
		os.Exit(0)
	}
	var line struct {
		Type      string `json:"type"`
		UUID      string `json:"uuid"`
		RequestID string `json:"request_id"`
	}
	if err := json.Unmarshal(raw, &line); err != nil {
		fmt.Fprintln(os.Stderr, "unreadable:", err)
		os.Exit(9)
	}
	switch line.Type {
	case "user":
		p.ids["${PROMPT}"] = line.UUID
	case "control_request":
		p.ids["${CONTROL}"] = line.RequestID
	}
	note(p.received, json.RawMessage(raw))
}

func note(path string, v any) {
	line, err := json.Marshal(v)
	if err == nil {
		var file *os.File
		if file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			_, err = file.Write(append(line, '\n'))
			_ = file.Close()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(9)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// lives returns the starts of a fake with that HOME.
func lives(t *testing.T, home string) []life {
	t.Helper()
	var all []life
	for _, line := range noted(t, filepath.Join(home, "started")) {
		var l life
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

// received returns the lines that a fake with that HOME read, without the
// handshakes and with names for the ids of prompts.
func received(t *testing.T, home string) []string {
	t.Helper()
	var lines []string
	for _, line := range noted(t, filepath.Join(home, "received")) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if v["request_id"] == "initialize" {
			continue
		}
		delete(v, "uuid")
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(again))
	}
	return lines
}

func noted(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(string(text), "\n"), "\n")
}
