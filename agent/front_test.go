package agent

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"bellhop/protocol"
)

// metered is a model that reports usage and a notice.
func metered() *mocked {
	return &mocked{func([]Message) []Delta {
		return []Delta{
			{Notice: "too many requests; trying again in 1s"}, {Text: "hi"}, {Usage: &Usage{Input: 10, Output: 20, Total: 30}},
		}
	}}
}

// mocked emits deltas chosen by the conversation it gets.
type mocked struct {
	answer func(history []Message) []Delta
}

func (m *mocked) Complete(_ context.Context, history []Message, _ []ToolSpec) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		for _, delta := range m.answer(history) {
			if !yield(delta, nil) {
				return
			}
		}
	}
}

func TestUsageAndNoticesReachTheClient(t *testing.T) {
	t.Parallel()
	a := serve(t, Options{Completer: metered(), Model: "mock/1"})
	for range 2 { // usage is counted per turn, not per session
		a.input("go")
		if line := a.until(protocol.LineStatus); line.Level != "warning" ||
			line.Message != "too many requests; trying again in 1s" {
			t.Errorf("got %+v", line)
		}
		want := `{"model":"mock/1","usage":{"inputTokens":10,"outputTokens":20,"totalTokens":30}}`
		if line := a.until(protocol.LineMessage); string(line.Metadata) != want {
			t.Errorf("got %s", line.Metadata)
		}
		a.waiting(protocol.WaitingDone)
	}
	a.ends()
}

func TestAFakeModelRespondsToTheHistory(t *testing.T) {
	t.Parallel()
	a := serve(t, Options{Model: "mock", Completer: &mocked{func(history []Message) []Delta {
		switch last := history[len(history)-1]; last.Role {
		case RoleTool:
			return []Delta{{Text: "it says: " + last.Text}}
		default:
			return []Delta{{Call: &ToolCall{Name: ToolReadFile, Arguments: encode(map[string]string{"path": last.Text})}}}
		}
	}}})
	a.input("src/main.go")
	if line := a.until(protocol.LineMessage); *line.Content != "it says: package main\n" {
		t.Errorf("got %q", *line.Content)
	}
	a.waiting(protocol.WaitingDone)
	a.ends()
}

func TestArgumentsThatAreNoObjectAreRefused(t *testing.T) {
	t.Parallel()
	bad := ToolCall{Name: ToolListDir, Arguments: []byte("{}"), Problem: "unexpected end of JSON input"}
	a := serve(t, Options{Completer: &played{completions: [][]any{{bad}, {"sorry"}}}})
	a.input("go")
	want := "The arguments are not a JSON object: unexpected end of JSON input"
	if line := a.until(protocol.LineToolMessage); !line.IsError || *line.Content != want {
		t.Errorf("got %+v", line)
	}
	a.waiting(protocol.WaitingDone)
	a.ends()
}

func TestAThousandInterruptsEndOneTurn(t *testing.T) {
	t.Parallel()
	a := serve(t, Options{})
	for range 20 {
		a.input("slow 36000")
		a.until(protocol.LineChunk)
		go func() { _, _ = io.WriteString(a.in, strings.Repeat("{\"type\":\"interrupt\"}\n", 1000)) }()
		a.waiting(protocol.WaitingInterrupted)
	}
	a.ends()
	if a.answered() != 20 {
		t.Errorf("%d turns ended", a.answered())
	}
	for _, line := range a.seen {
		if strings.Contains(line, `"type":"status"`) {
			t.Errorf("an interrupt of nothing is no error: %s", line)
		}
	}
}

// endless is a line of n bytes.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	p = p[:min(len(p), e.n)]
	for i := range p {
		p[i] = 'x'
	}
	e.n -= len(p)
	return len(p), nil
}

func TestAHundredMiBWithoutANewlineAreRefused(t *testing.T) {
	t.Parallel()
	a := serve(t, Options{})
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(a.in, &endless{100 << 20})
		sent <- err
	}()
	if line := a.until(protocol.LineStatus); line.Message != "The line is over 12 MiB" {
		t.Errorf("got %+v", line)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	a.send("") // the end of the line
	a.input("help")
	a.waiting(protocol.WaitingDone)
	a.ends()
}

// recorder is a Front that records its calls, in order.
type recorder struct {
	mu    sync.Mutex
	calls []string
	wake  chan struct{}
}

func (r *recorder) record(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, what)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// await blocks until a recorded call satisfies the condition.
func (r *recorder) await(t *testing.T, satisfies func(string) bool) string {
	t.Helper()
	for {
		r.mu.Lock()
		at := slices.IndexFunc(r.calls, satisfies)
		found := ""
		if at >= 0 {
			found = r.calls[at]
		}
		r.mu.Unlock()
		if at >= 0 {
			return found
		}
		select {
		case <-r.wake:
		case <-t.Context().Done():
			t.Fatalf("got only %v", r.calls)
		}
	}
}

func openRecorded(t *testing.T, opts Options) (*Session, *recorder) {
	t.Helper()
	r := &recorder{wake: make(chan struct{}, 1)}
	ids := 0
	opts.NewID = func() string { ids++; return fmt.Sprintf("id-%d", ids) }
	s, err := Open(opts, Front{
		Write:          func(l protocol.Line) { r.record(l.Type + l.RequestID + l.Reason + l.SessionID) },
		Accepted:       func(l *protocol.Line) { r.record("accepted " + l.Type) },
		QuestionClosed: func(id string) { r.record("withdrawn " + id) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, r
}

func text(s string) *string { return &s }

func TestASessionCallsItsFront(t *testing.T) {
	t.Parallel()
	ask := ToolCall{Name: ToolAskUser, Arguments: []byte(`{"question":"Which?"}`)}
	s, r := openRecorded(t, Options{
		Dir: t.TempDir(), SessionID: "s", Completer: &played{completions: [][]any{{ask}, {"x"}}},
	})
	if err := s.Handle(&protocol.Line{
		Type: "answer", RequestID: "id-2", Text: text("x"),
	}); protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("an answer to nothing: %v", err)
	}
	if err := s.Handle(&protocol.Line{Type: "input", Text: text("go")}); err != nil {
		t.Fatal(err)
	}
	r.await(t, func(s string) bool { return s == "askid-2s" })
	if err := s.Handle(&protocol.Line{Type: "interrupt"}); err != nil {
		t.Fatal(err)
	}
	r.await(t, func(s string) bool { return s == "stateinterrupteds" })
	s.Close()
	want := "[accepted input states askid-2s accepted interrupt withdrawn id-2 stateinterrupteds]"
	if got := fmt.Sprint(r.calls); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if err := s.Handle(&protocol.Line{Type: "input", Text: text("go")}); protocol.CodeOf(err) != protocol.CodeGone {
		t.Errorf("after its end: %v", err)
	}
	want = `{"type":"status","session_id":"s","level":"error","message":"The session has ended","code":"gone","command":"input"}`
	gone := Refusal("s", protocol.Errorf(protocol.CodeGone, "The session has ended"), &protocol.Line{Type: "input"})
	if got := string(encode(gone)); got != want {
		t.Errorf("got %s", got)
	}
}
