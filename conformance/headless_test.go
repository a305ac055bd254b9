package conformance

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// faultyProgram returns options that run this binary with a fault.
func faultyProgram(t *testing.T, fault string) HeadlessOptions {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "README"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return HeadlessOptions{Command: []string{self, asProgram, fault}, Dir: dir}
}

// failures returns the problems of failed checks by name.
func failures(r *Report) map[string]string {
	failed := map[string]string{}
	for _, c := range r.Checks {
		if c.Result == Fail {
			failed[c.Name] = strings.Join(c.Problems, "\n")
		}
	}
	return failed
}

func TestTheDemoAgentPassesEveryCheck(t *testing.T) {
	t.Parallel()
	r := Headless(t.Context(), faultyProgram(t, "none"))
	var text bytes.Buffer
	if err := r.Write(&text); err != nil {
		t.Fatal(err)
	}
	if r.Failed+r.Skipped > 0 {
		t.Errorf("%s", text.String())
	}
}

func TestEveryFaultOfAProgramFailsItsCheck(t *testing.T) {
	t.Parallel()
	for fault, c := range map[string]struct{ check, problem string }{
		"logs to stdout":                    {"stdout", "no line of the protocol"},
		"ends a turn twice":                 {"a turn", "after waiting_for_input came state waiting_for_input done"},
		"forgets the session":               {"the session id", `has the session_id "" instead of the bound one`},
		"swallows refusals":                 {"malformed input", "came within"},
		"repeats other text in the message": {"text and its message", "their message"},
		"exits with an error":               {"the end of input", "exit status 3"},
		"ignores interrupts":                {"an interrupt with a question open", "no waiting_for_input came within"},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			options := faultyProgram(t, fault)
			options.only = []string{"a turn", c.check}
			if strings.Contains(c.problem, "came within") {
				options.Patience = 2 * time.Second // what this fault takes away never comes
			}
			got := failures(Headless(t.Context(), options))
			if !strings.Contains(got[c.check], c.problem) {
				t.Errorf("check %q says %q, want %q; failed: %v", c.check, got[c.check], c.problem, got)
			}
		})
	}
}

func TestACommandThatIsNoAgentFailsWithAMessage(t *testing.T) {
	t.Parallel()
	got := failures(Headless(t.Context(), HeadlessOptions{Command: []string{"/no/such/program"}}))
	if !strings.Contains(got["a turn"], "cannot be started") {
		t.Errorf("failed: %v", got)
	}
}

func TestTheReportAsTextAndAsJSON(t *testing.T) {
	t.Parallel()
	r := &Report{Subject: "host: x", Passed: 1, Failed: 1, Skipped: 1, Checks: []Check{
		{Name: "a", Rule: "b holds", Result: Pass},
		{Name: "c", Rule: "d holds", Result: Fail, Problems: []string{"it does not\nat all"}},
		{Name: "e", Rule: "f holds", Result: Skip, Problems: []string{"not asked"}},
	}}
	var text, raw bytes.Buffer
	if err := r.Write(&text); err != nil {
		t.Fatal(err)
	}
	want := "host: x\n\npass  a\nfail  c\n      rule: d holds\n      it does not\n      at all\nskip  e\n      not " +
		"asked\n\n1 passed, 1 failed, 1 skipped\n"
	if text.String() != want {
		t.Errorf("got\n%s", text.String())
	}
	var back Report
	if err := r.WriteJSON(&raw); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw.Bytes(), &back); err != nil || back.Checks[1].Problems[0] != "it does not\nat all" ||
		back.Failed != 1 {
		t.Errorf("got %s", raw.String())
	}
}
