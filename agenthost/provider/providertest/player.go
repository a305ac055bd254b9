package providertest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// playScript is the variable with a player's folder of scripts.
const playScript = "PROVIDER_TEST_SCRIPT"

// Main runs the tests of a package. In a process that a Fixture started, it plays a
// script as a JSON-RPC program instead: the n-th start in a home plays the file
// n.jsonl of the folder. Each line is an object of dir and msg:
//
//	in      the message that must come next: all its members must be equal, "*" matches
//	        anything; the id of a request stands for any id
//	ins     several of these, in any order
//	out     a message to send
//	raw     a line to send that need not be a message
//	stderr  a line for stderr
//	env     writes the environment to the file "environment" of the home
//	gate    waits for a file of this name in the home
//	exit    exits at once with this status
//
// After the last line it reads to the end of its input, and writes the remaining
// input to the file "unexpected" of the home.
func Main(m *testing.M) {
	dir := os.Getenv(playScript)
	if dir == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := playScripts(dir, os.Getenv("HOME"), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(9)
	}
}

type scriptLine struct {
	Dir string `json:"dir"`
	Msg any    `json:"msg"`
}

// scriptPlayer plays one script.
type scriptPlayer struct {
	home string
	in   *bufio.Scanner
	out  io.Writer
	ids  map[string]any // id in the script → received id
}

func playScripts(dir, home string, in io.Reader, out io.Writer) error {
	starts, err := count(filepath.Join(home, "starts"))
	if err != nil {
		return err
	}
	script, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(starts)+".jsonl"))
	if err != nil {
		return err
	}
	p := &scriptPlayer{home: home, in: bufio.NewScanner(in), out: out, ids: map[string]any{}}
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

// count increments the number in a file.
func count(path string) (int, error) {
	content, _ := os.ReadFile(path)
	n, _ := strconv.Atoi(string(content))
	return n + 1, os.WriteFile(path, []byte(strconv.Itoa(n+1)), 0o600)
}

func (p *scriptPlayer) step(line scriptLine) error {
	switch line.Dir {
	case "in":
		return p.expect(line.Msg)
	case "ins":
		list, _ := line.Msg.([]any)
		return p.expect(list...)
	case "out":
		return p.send(line.Msg)
	case "raw":
		_, err := fmt.Fprintln(p.out, line.Msg)
		return err
	case "stderr":
		fmt.Fprintln(os.Stderr, line.Msg)
	case "env":
		lines := append(os.Environ(), "ARGS="+strings.Join(os.Args[1:], " "))
		return os.WriteFile(filepath.Join(p.home, "environment"), []byte(strings.Join(lines, "\n")), 0o600)
	case "gate":
		for {
			if _, err := os.Stat(filepath.Join(p.home, "gate")); err == nil {
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

func (p *scriptPlayer) send(message any) error {
	members, _ := message.(map[string]any)
	if id, came := p.ids[fmt.Sprint(members["id"])]; came && members["method"] == nil {
		members["id"] = id
	}
	raw, err := json.Marshal(members)
	if err == nil {
		_, err = fmt.Fprintln(p.out, string(raw))
	}
	return err
}

// expect reads the wanted messages, in any order.
func (p *scriptPlayer) expect(wants ...any) error {
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

func (p *scriptPlayer) matches(got map[string]any, want any) bool {
	expected, _ := want.(map[string]any)
	expected = maps.Clone(expected)
	if expected["method"] != nil && expected["id"] != nil {
		p.ids[fmt.Sprint(expected["id"])] = got["id"]
		delete(expected, "id")
	}
	return Contains(got, expected)
}

// Contains reports whether decoded JSON contains all wanted members. "*" matches
// anything; an empty object matches only an empty one.
func Contains(got, want any) bool {
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
		if !ok || !Contains(there[name], value) {
			return false
		}
	}
	return ok
}

// rest stores the input after the end of the script.
func (p *scriptPlayer) rest(path string) error {
	for p.in.Scan() {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(file, "%s\n", p.in.Bytes())
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}
