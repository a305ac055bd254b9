package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"bellhop/agenthost"
)

// Kinds of entries.
const (
	KindText         = "text"
	KindEndText      = "end-text"
	KindReasoning    = "reasoning"
	KindCall         = "call"
	KindResult       = "result"
	KindConfirm      = "confirm"
	KindAsk          = "ask"
	KindChecking     = "checking"
	KindRestored     = "restored"
	KindNotice       = "notice"
	KindAgentSession = "agent-session"
)

// Entry is one call of an Output method, in order of arrival.
type Entry struct {
	Kind     string
	Text     string // deltas, final text, notice, session id
	Level    string // of a notice
	About    agenthost.TextAbout
	Call     agenthost.ToolCall
	Result   agenthost.ToolResult
	Question agenthost.Question
}

// ErrOutput is the error of a Recorder with FailAfter.
var ErrOutput = errors.New("the output takes no more")

// Recorder is an Output that records the entries of one turn and its violations of
// the contract.
type Recorder struct {
	// Decide answers the questions; nil leaves them open until ctx ends.
	Decide func(ctx context.Context, kind string, q agenthost.Question) (agenthost.Answer, error)
	// Answers, if set, provides the answers to open questions. Decide has
	// precedence.
	Answers <-chan agenthost.Answer
	// OnRestored is called by Restored with its context; it may be nil.
	OnRestored func(ctx context.Context)
	// Memory is what Restored returns.
	Memory string
	// FailAfter makes all further calls fail after this number of calls; 0 = none
	// fails.
	FailAfter int

	mu       sync.Mutex
	changed  chan struct{} // closed at the next entry
	entries  []Entry
	broken   []string
	open     strings.Builder // deltas of the open block
	isOpen   bool
	texts    []string
	calls    map[string]bool // id → has a result
	finished bool
	expired  int
}

// Entries returns the entries so far.
func (r *Recorder) Entries() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.entries)
}

// Texts returns the text blocks that have ended, with their final texts.
func (r *Recorder) Texts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.texts)
}

// Of returns the entries of one kind.
func (r *Recorder) Of(kind string) []Entry {
	return slices.DeleteFunc(r.Entries(), func(e Entry) bool { return e.Kind != kind })
}

// maxWait bounds WaitFor, so that a turn which failed before its first entry ends
// its own test and not the whole run.
const maxWait = 3 * time.Minute

// WaitFor returns when n entries of the kind have been recorded. It fails when ctx
// ends, or after three minutes.
func (r *Recorder) WaitFor(ctx context.Context, kind string, n int) error {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	for {
		r.mu.Lock()
		seen := 0
		for _, e := range r.entries {
			if e.Kind == kind {
				seen++
			}
		}
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		if seen >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d %s entries came: %w", seen, n, kind, ctx.Err())
		}
	}
}

// Finish records that Run has returned. Later entries violate the contract.
func (r *Recorder) Finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished = true
}

// Broken returns the violations of the contract. For a complete turn (not stopped
// or killed) it also requires that every block has ended and every call has a
// result.
func (r *Recorder) Broken(complete bool) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	broken := slices.Clone(r.broken)
	if !complete {
		return broken
	}
	if r.isOpen {
		broken = append(broken, "a text block is still open")
	}
	for id, answered := range r.calls {
		if !answered {
			broken = append(broken, "call "+id+" has no result")
		}
	}
	return broken
}

// note records an entry under the lock and calls rule to check it.
func (r *Recorder) note(e Entry, rule func()) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finished {
		r.violate("%s after the end of Run", e.Kind)
	}
	if r.FailAfter > 0 && len(r.entries) >= r.FailAfter {
		return ErrOutput
	}
	r.entries = append(r.entries, e)
	if rule != nil {
		rule()
	}
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
	return nil
}

func (r *Recorder) violate(format string, args ...any) {
	r.broken = append(r.broken, fmt.Sprintf(format, args...))
}

func (r *Recorder) endBlock(final string) {
	if final == "" {
		final = r.open.String()
	}
	if r.isOpen || final != "" {
		r.texts = append(r.texts, final)
	}
	r.open.Reset()
	r.isOpen = false
}

// Text implements agenthost.Output.
func (r *Recorder) Text(delta string) error {
	return r.note(Entry{Kind: KindText, Text: delta}, func() {
		r.open.WriteString(delta)
		r.isOpen = true
	})
}

// EndText implements agenthost.Output.
func (r *Recorder) EndText(final string) error {
	return r.note(Entry{Kind: KindEndText, Text: final}, func() { r.endBlock(final) })
}

// EndMessage implements agenthost.Output.
func (r *Recorder) EndMessage(final string, about agenthost.TextAbout) error {
	return r.note(Entry{Kind: KindEndText, Text: final, About: about}, func() { r.endBlock(final) })
}

// Reasoning implements agenthost.Output.
func (r *Recorder) Reasoning(delta string) error {
	return r.note(Entry{Kind: KindReasoning, Text: delta}, nil)
}

// EndReasoning implements agenthost.Output.
func (r *Recorder) EndReasoning() error { return nil }

// ToolCall implements agenthost.Output.
func (r *Recorder) ToolCall(call agenthost.ToolCall) error {
	return r.note(Entry{Kind: KindCall, Call: call}, func() {
		r.endBlock("")
		if _, known := r.calls[call.ID]; known || call.ID == "" || call.Name == "" {
			r.violate("call %q of %q: the id is used twice, or one of them is empty", call.ID, call.Name)
		}
		if !json.Valid(call.Input) {
			r.violate("call %q: the input is not JSON: %s", call.ID, call.Input)
		}
		if r.calls == nil {
			r.calls = map[string]bool{}
		}
		r.calls[call.ID] = false
	})
}

// ToolResult implements agenthost.Output.
func (r *Recorder) ToolResult(result agenthost.ToolResult) error {
	return r.note(Entry{Kind: KindResult, Result: result}, func() {
		if answered, known := r.calls[result.ID]; !known || answered {
			r.violate("result %q: there is no such call, or it has one", result.ID)
		}
		if !json.Valid(result.Output) {
			r.violate("result %q: the output is not JSON: %s", result.ID, result.Output)
		}
		if r.calls != nil {
			r.calls[result.ID] = true
		}
	})
}

// Confirm implements agenthost.Output.
func (r *Recorder) Confirm(ctx context.Context, q agenthost.Question) (agenthost.Answer, error) {
	err := r.note(Entry{Kind: KindConfirm, Question: q}, func() {
		if _, known := r.calls[q.ToolCallID]; q.ToolCallID != "" && !known {
			r.violate("confirm names the unknown call %q", q.ToolCallID)
		}
	})
	return r.decide(ctx, KindConfirm, q, err)
}

// Ask implements agenthost.Output.
func (r *Recorder) Ask(ctx context.Context, q agenthost.Question) (agenthost.Answer, error) {
	err := r.note(Entry{Kind: KindAsk, Question: q}, nil)
	return r.decide(ctx, KindAsk, q, err)
}

func (r *Recorder) decide(ctx context.Context, kind string, q agenthost.Question, err error) (agenthost.Answer, error) {
	if err != nil {
		return agenthost.Answer{}, err
	}
	if r.Decide != nil {
		return r.Decide(ctx, kind, q)
	}
	select {
	case a := <-r.Answers:
		return a, nil
	case <-ctx.Done():
	}
	if err := context.Cause(ctx); !errors.Is(err, agenthost.ErrExpired) {
		return agenthost.Answer{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expired++
	return agenthost.Answer{Expired: true, Reason: "expired"}, nil
}

// Expired returns how many questions ended with ErrExpired.
func (r *Recorder) Expired() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.expired
}

// Checking implements agenthost.Output.
func (r *Recorder) Checking(lost bool) error {
	return r.note(Entry{Kind: KindChecking, Text: strconv.FormatBool(lost)}, nil)
}

// Restored implements agenthost.Output.
func (r *Recorder) Restored(ctx context.Context) (string, error) {
	if r.OnRestored != nil {
		r.OnRestored(ctx)
	}
	return r.Memory, r.note(Entry{Kind: KindRestored, Text: r.Memory}, nil)
}

// Notice implements agenthost.Output.
func (r *Recorder) Notice(level, message string) {
	_ = r.note(Entry{Kind: KindNotice, Level: level, Text: message}, nil)
}

// SetAgentSessionID implements agenthost.Output.
func (r *Recorder) SetAgentSessionID(id string) error {
	return r.note(Entry{Kind: KindAgentSession, Text: id}, nil)
}
