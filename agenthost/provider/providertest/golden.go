package providertest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"bellhop/agenthost"
)

// Recording is the traffic of a real program in one turn. Its folder testdata/NAME
// has the script for the player (see Main) and the golden file entries.json.
type Recording struct {
	Name, Rule, Prompt string
	Answer             agenthost.Answer // to every question
	InterruptAt        string           // kind of the entry; "" = not interrupted
}

// NewRecording returns a row of a table of recordings.
func NewRecording(name, rule, prompt string, answer agenthost.Answer, interruptAt string) Recording {
	return Recording{Name: name, Rule: rule, Prompt: prompt, Answer: answer, InterruptAt: interruptAt}
}

// PlayRecordings plays each recording and compares the entries of the agent's output
// with the golden file. open must set Fixture.Open. If update is set,
// PlayRecordings writes the golden file.
func PlayRecordings(t *testing.T, update bool, recordings []Recording, open func(f *Fixture, r Recording)) {
	t.Helper()
	for _, r := range recordings {
		t.Run(r.Name+": "+r.Rule, func(t *testing.T) {
			dir := filepath.Join("testdata", r.Name)
			f := NewFixtureOf(t, dir)
			open(f, r)
			out := Answering(r.Answer)
			if r.InterruptAt == KindConfirm {
				out.Decide = nil
			}
			end := f.Begin(out, agenthost.Prompt{TurnID: "turn-1", Text: r.Prompt})
			if r.InterruptAt != "" {
				f.Await(out, r.InterruptAt)
				if err := f.Agent.Interrupt(t.Context()); err != nil {
					t.Error(err)
				}
			}
			outcome, err := end()
			if err != nil {
				t.Error(err)
			}
			Golden(t, update, filepath.Join(dir, "entries.json"), encodeTurn(t, out, outcome))
			if broken := out.Broken(r.InterruptAt == ""); len(broken) > 0 {
				t.Errorf("the contract is broken: %q", broken)
			}
		})
	}
}

// goldenEntry is an Entry without the members that its kind does not use.
type goldenEntry struct {
	Kind     string                `json:"kind"`
	Text     string                `json:"text,omitempty"`
	Level    string                `json:"level,omitempty"`
	Call     *agenthost.ToolCall   `json:"call,omitempty"`
	Result   *agenthost.ToolResult `json:"result,omitempty"`
	Question *agenthost.Question   `json:"question,omitempty"`
}

// encodeTurn returns the content of a golden file: the entries of a turn and its
// outcome.
func encodeTurn(t *testing.T, out *Recorder, outcome agenthost.Outcome) []byte {
	t.Helper()
	turn := struct {
		Entries []goldenEntry     `json:"entries"`
		Outcome agenthost.Outcome `json:"outcome"`
	}{Outcome: outcome}
	for _, e := range out.Entries() {
		g := goldenEntry{Kind: e.Kind, Text: e.Text, Level: e.Level}
		switch e.Kind {
		case KindCall:
			g.Call = &e.Call
		case KindResult:
			g.Result = &e.Result
		case KindConfirm, KindAsk:
			g.Question = &e.Question
		}
		turn.Entries = append(turn.Entries, g)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(turn); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// Golden compares with a golden file, or writes it if update is set.
func Golden(t *testing.T, update bool, path string, got []byte) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
