package acp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// playScript in the environment makes this test binary an agent that
// plays a script: the n-th start in a home plays the file n.jsonl of the named
// folder. Each line is an object of dir and msg:
//
//	in      the message that must come next: all its members must be the same,
//	        "*" is anything; the id of a request stands for whatever id came
//	ins     several of these, in any order
//	out     a message to say
//	raw     a line to say that may be no message
//	stderr  a line for stderr
//	env     writes the environment to the file "environment" of the home
//	gate    waits for a file of this name in the home
//	exit    the exit status to end with, at once
//
// Behind the last line it reads to the end of its input; what comes then is
// kept in the file "unexpected" of the home.
const playScript = "ACP_TEST_SCRIPT"

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
	case "ins":
		list, _ := line.Msg.([]any)
		return p.expect(list...)
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
		return os.WriteFile(filepath.Join(os.Getenv("HOME"), "environment"), []byte(strings.Join(append(os.Environ(), "ARGS="+strings.Join(os.Args[1:], " ")), "\n")), 0o600)
	case "gate":
		for {
			if _, err := os.Stat(filepath.Join(os.Getenv("HOME"), "gate")); err == nil {
				return nil
			}
			runtime.Gosched()
		}
	case "exit":
		status, _ := line.Msg.(float64)
		os.Exit(int(status))
	}
	return nil
}

// expect reads as many messages as are wanted, in whichever order.
func (p *player) expect(wants ...any) error {
	for len(wants) > 0 {
		if !p.in.Scan() {
			return fmt.Errorf("the input ends before %v", wants)
		}
		var got map[string]any
		if err := json.Unmarshal(p.in.Bytes(), &got); err != nil {
			return fmt.Errorf("%w: %s", err, p.in.Bytes())
		}
		found := slices.IndexFunc(wants, func(want any) bool { return p.matches(got, want) })
		if found < 0 {
			raw, _ := json.Marshal(wants)
			return fmt.Errorf("got %s, want one of %s", p.in.Bytes(), raw)
		}
		wants = slices.Delete(wants, found, found+1)
	}
	return nil
}

func (p *player) matches(got map[string]any, want any) bool {
	expected, _ := want.(map[string]any)
	expected = maps.Clone(expected)
	if expected["method"] != nil && expected["id"] != nil {
		p.ids[fmt.Sprint(expected["id"])] = got["id"]
		delete(expected, "id")
	}
	return contains(got, expected)
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
