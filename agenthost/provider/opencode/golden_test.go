package opencode_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
)

var update = flag.Bool("update", false, "write the golden files")

// step is a line of a recording: an event, or a call by the client.
type step struct {
	Type       string          `json:"type"`
	Properties json.RawMessage `json:"properties"`

	Call string `json:"call"`
	Path string `json:"path"`
	Body struct {
		Reply   string
		Message string
		Answers [][]string
	} `json:"body"`
}

func recording(t *testing.T, dir string) []step {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "recording.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var steps []step
	for line := range bytes.Lines(content) {
		var s step
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, s)
	}
	return steps
}

// TestRecordings replays the events of a real OpenCode and compares the output of
// the provider.
func TestRecordings(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/*/recording.jsonl")
	if err != nil || len(cases) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, path := range cases {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) { replay(t, dir) })
	}
}

func replay(t *testing.T, dir string) {
	t.Helper()
	steps := recording(t, dir)
	f := newFake(t)
	f.session = strings.Split(steps[0].Path, "/")[2]
	o := options(f)
	o.Now = func() time.Time { return time.UnixMilli(1795000000000) }
	if strings.Contains(dir, "retry") || strings.Contains(dir, "connection") {
		o.RetryWait = 1000 * time.Hour
		o.Retries = attempts(steps) - 1
	}
	out := &providertest.Recorder{Decide: decide(steps)}
	a := open(t, o, agenthost.AgentSpec{})
	f.onPrompt = func() { play(t, f, steps[1:], out, func() { _ = a.Interrupt(context.Background()) }) }
	outcome := finish(t, begin(t, a, out), out, false)
	got := strings.Join(shown(out), "\n") + "\n"
	encoded, err := json.MarshalIndent(outcome, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got += "outcome " + string(encoded) + "\n"
	providertest.Golden(t, *update, filepath.Join(dir, "entries.golden"), []byte(got))
}

// play emits the recorded events. At a recorded call, it waits until the provider
// makes the same call.
func play(t *testing.T, f *fake, steps []step, out *providertest.Recorder, interrupt func()) {
	t.Helper()
	confirms, asks, deltas := 0, 0, 0
	for _, s := range steps {
		if s.Type != "" {
			f.emit(s.Type, s.Properties)
			switch s.Type {
			case "message.part.delta":
				deltas++
			case "permission.asked":
				confirms++
				_ = out.WaitFor(t.Context(), providertest.KindConfirm, confirms)
			case "question.asked":
				asks++
				_ = out.WaitFor(t.Context(), providertest.KindAsk, asks)
			}
			continue
		}
		if s.Call == "abort" && !strings.Contains(t.Name(), "retry") && !strings.Contains(t.Name(), "connection") {
			_ = out.WaitFor(t.Context(), providertest.KindText, deltas)
			f.group.Go(interrupt)
		}
		path := strings.Replace(s.Path, "/"+f.session, "", 1)
		f.until(func() bool { return f.called("POST " + path) })
	}
}

// attempts returns how often the recorded agent retried before it was stopped.
func attempts(steps []step) int {
	most := 0
	for _, s := range steps {
		var p struct{ Status struct{ Attempt int } }
		_ = json.Unmarshal(s.Properties, &p)
		most = max(most, p.Status.Attempt)
	}
	return most
}

// decide returns the answers of the recorded client.
func decide(steps []step) func(context.Context, string, agenthost.Question) (agenthost.Answer, error) {
	var answers []agenthost.Answer
	for _, s := range steps {
		if s.Call != "reply" {
			continue
		}
		a := agenthost.Answer{Approved: cmp.Or(s.Body.Reply, "reject") != "reject", Reason: s.Body.Message}
		for _, choice := range s.Body.Answers {
			a.Text = strings.Join(choice, ",")
		}
		answers = append(answers, a)
	}
	queue := make(chan agenthost.Answer, len(answers))
	for _, a := range answers {
		queue <- a
	}
	return func(ctx context.Context, _ string, _ agenthost.Question) (agenthost.Answer, error) {
		select {
		case a := <-queue:
			return a, nil
		case <-ctx.Done():
			return agenthost.Answer{}, ctx.Err()
		}
	}
}
