package codex_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// playScript in the environment makes this test binary an app server that
// plays a script: the n-th start in a home plays the file n.jsonl of the named
// folder. Each line is an object of dir and msg:
//
//	in      the message that must come next: all its members must be the same,
//	        "*" is anything; the id of a request stands for whatever id came
//	out     a message to say
//	raw     a line to say that may be no message
//	stderr  a line for stderr
//	env     writes the environment to the file "environment" of the home
//	exit    the exit status to end with, at once
//
// Behind the last line it reads to the end of its input; what comes then is
// kept in the file "unexpected" of the home.
const playScript = "CODEX_TEST_SCRIPT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(playScript); dir != "" {
		if err := play(dir, os.Getenv("HOME")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(9)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

type scriptLine struct {
	Dir string `json:"dir"`
	Msg any    `json:"msg"`
}

// player plays one script.
type player struct {
	in  *bufio.Scanner
	ids map[string]any // id in the script → id that came
}

func play(dir, home string) error {
	starts, err := count(filepath.Join(home, "starts"))
	if err != nil {
		return err
	}
	script, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(starts)+".jsonl"))
	if err != nil {
		return err
	}
	p := &player{in: bufio.NewScanner(os.Stdin), ids: map[string]any{}}
	p.in.Buffer(nil, 16<<20)
	for raw := range strings.Lines(string(script)) {
		var line scriptLine
		if err := json.Unmarshal([]byte(raw), &line); err != nil {
			return fmt.Errorf("script: %w: %s", err, raw)
		}
		if err := p.step(line); err != nil {
			return err
		}
	}
	return p.rest(filepath.Join(home, "unexpected"))
}

// count adds one to the number in a file.
func count(path string) (int, error) {
	content, _ := os.ReadFile(path)
	n, _ := strconv.Atoi(string(content))
	return n + 1, os.WriteFile(path, []byte(strconv.Itoa(n+1)), 0o600)
}

func (p *player) step(line scriptLine) error {
	switch line.Dir {
	case "in":
		return p.expect(line.Msg)
	case "out":
		said, _ := line.Msg.(map[string]any)
		if id, mine := p.ids[fmt.Sprint(said["id"])]; mine && said["method"] == nil {
			said["id"] = id
		}
		raw, err := json.Marshal(said)
		fmt.Println(string(raw))
		return err
	case "raw":
		fmt.Println(line.Msg)
	case "stderr":
		fmt.Fprintln(os.Stderr, line.Msg)
	case "env":
		return os.WriteFile(filepath.Join(os.Getenv("HOME"), "environment"), []byte(strings.Join(os.Environ(), "\n")), 0o600)
	case "exit":
		status, _ := line.Msg.(float64)
		os.Exit(int(status))
	}
	return nil
}

func (p *player) expect(want any) error {
	if !p.in.Scan() {
		return fmt.Errorf("the input ends before %v", want)
	}
	var got map[string]any
	if err := json.Unmarshal(p.in.Bytes(), &got); err != nil {
		return fmt.Errorf("%w: %s", err, p.in.Bytes())
	}
	expected, _ := want.(map[string]any)
	if expected["method"] != nil && expected["id"] != nil {
		p.ids[fmt.Sprint(expected["id"])] = got["id"]
		expected["id"] = got["id"]
	}
	if !contains(got, want) {
		raw, _ := json.Marshal(want)
		return fmt.Errorf("got %s, want %s", p.in.Bytes(), raw)
	}
	return nil
}

// contains tells whether all that is wanted is there; an empty object is to be
// empty.
func contains(got, want any) bool {
	if want == "*" {
		return true
	}
	members, ok := want.(map[string]any)
	if !ok {
		return reflect.DeepEqual(got, want)
	}
	there, ok := got.(map[string]any)
	if len(members) == 0 {
		return ok && len(there) == 0
	}
	for name, value := range members {
		if !ok || !contains(there[name], value) {
			return false
		}
	}
	return ok
}

func (p *player) rest(path string) error {
	for p.in.Scan() {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(file, "%s\n", p.in.Bytes())
		if err := file.Close(); err != nil {
			return err
		}
		if err != nil {
			return err
		}
	}
	return nil
}
