package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// driver is a client of a programming language as a program: it takes calls and returns their results, both as one JSON
// object a line.
type driver struct {
	t       testing.TB
	stack   *stack
	calls   io.Writer
	results *bufio.Reader
	stderr  bytes.Buffer
}

// refusal is an error of a client: a server's, or one of the network.
type refusal struct {
	Status              int
	Code, Hint, Message string
	Network             string
}

// readTurn is what a client has read of a turn.
type readTurn struct {
	Parts      []part
	Reconnects int
}

// part has the members of stream parts that the cases look at.
type part struct {
	Type, Text, ApprovalID, FinishReason string
	Data                                 struct{ Verdict string }
	Event                                *struct {
		ID  string
		Seq int64
	}
}

// drivers are the commands of the clients by their language.
func drivers(t *testing.T, dir string) map[string]*exec.Cmd {
	t.Helper()
	root := filepath.Join("..", "..")
	python := exec.CommandContext(t.Context(), "python3", "-W", "error", "-m", "tests.driver")
	python.Dir = filepath.Join(root, "clients", "python")
	python.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")

	web := filepath.Join(root, "web", "client")
	esbuild := filepath.Join("node_modules", ".bin", "esbuild")
	if _, err := os.Stat(filepath.Join(web, esbuild)); err != nil {
		t.Fatalf("The TypeScript client needs its packages: run make web/client/node_modules/.package-lock.json: %v", err)
	}
	bundle := filepath.Join(dir, "driver.mjs")
	build := exec.CommandContext(t.Context(), esbuild, "test/driver/main.ts",
		"--bundle", "--platform=node", "--format=esm", "--log-level=warning", "--outfile="+bundle)
	build.Dir = web
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return map[string]*exec.Cmd{"python": python, "typescript": exec.CommandContext(t.Context(), "node", bundle)}
}

// drive starts a client and signs it in with the user's token. It ends with the test.
func drive(t *testing.T, s *stack, cmd *exec.Cmd) *driver {
	t.Helper()
	d := &driver{t: t, stack: s}
	calls, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	results, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.calls, d.results, cmd.Stderr = calls, bufio.NewReader(results), &d.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = calls.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, &d.stderr)
		}
	})
	d.signIn(s.token)
	return d
}

// on returns the driver for a case: its errors belong to the case.
func (d *driver) on(t testing.TB) *driver {
	t.Helper()
	return &driver{t: t, stack: d.stack, calls: d.calls, results: d.results}
}

// args are those of a call.
type args map[string]any

// try calls the client and returns its error; out may be nil.
func (d *driver) try(do string, with args, out any) *refusal {
	d.t.Helper()
	call := args{"do": do}
	for name, value := range with {
		call[name] = value
	}
	line, err := json.Marshal(call)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.calls.Write(append(line, '\n')); err != nil {
		d.t.Fatal(err)
	}
	answer, err := d.results.ReadBytes('\n')
	if err != nil {
		d.t.Fatalf("%s: the client ended: %v", do, err)
	}
	var result struct {
		OK    json.RawMessage
		Error *refusal
	}
	if err := json.Unmarshal(answer, &result); err != nil {
		d.t.Fatalf("%s: %s: %v", do, answer, err)
	}
	if out != nil && result.Error == nil {
		if err := json.Unmarshal(result.OK, out); err != nil {
			d.t.Fatalf("%s: %s: %v", do, answer, err)
		}
	}
	return result.Error
}

// call calls the client, which must not fail.
func (d *driver) call(do string, with args, out any) {
	d.t.Helper()
	if failed := d.try(do, with, out); failed != nil {
		d.t.Fatalf("%s %v: %+v", do, with, *failed)
	}
}

// refused calls the client, whose server must refuse it with a status and a code.
func (d *driver) refused(do string, with args, status int, code string) *refusal {
	d.t.Helper()
	failed := d.try(do, with, nil)
	if failed == nil || failed.Status != status || failed.Code != code || failed.Message == "" {
		d.t.Fatalf("%s %v: %+v, want %d %s", do, with, failed, status, code)
	}
	return failed
}

func (d *driver) signIn(token string) { d.call("open", args{"url": d.stack.api, "token": token}, nil) }

func (d *driver) task() string {
	d.t.Helper()
	var task struct{ ID string }
	d.call("create", args{"title": d.t.Name(), "hostId": d.stack.hostID}, &task)
	return task.ID
}

// prompt sends a message and returns the id of its turn.
func (d *driver) prompt(task, message string) string {
	d.t.Helper()
	var turn struct{ TurnID string }
	d.call("prompt", args{"taskId": task, "message": message}, &turn)
	return turn.TurnID
}

// read reads the present turn.
func (d *driver) read(with args) *readTurn {
	d.t.Helper()
	turn := &readTurn{}
	d.call("read", with, turn)
	if len(turn.Parts) == 0 {
		d.t.Fatal("the turn has no part")
	}
	return turn
}

func (r *readTurn) text() string {
	var text strings.Builder
	for _, p := range r.Parts {
		if p.Type == "text-delta" {
			text.WriteString(p.Text)
		}
	}
	return text.String()
}

// of returns the parts of a type.
func (r *readTurn) of(kind string) []part {
	var found []part
	for _, p := range r.Parts {
		if p.Type == kind {
			found = append(found, p)
		}
	}
	return found
}

func (r *readTurn) last() part { return r.Parts[len(r.Parts)-1] }
