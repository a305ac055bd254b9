package agenthost_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/policy"
	"bellhop/protocol"
)

// underPolicy makes hosts of r decide by a policy file.
func (r *rig) underPolicy(file string) *rig {
	r.Helper()
	r.options = func(o *agenthost.Options) { o.Policy = r.policy(file) }
	return r.start()
}

func (r *rig) policy(file string) agenthost.Policy {
	r.Helper()
	engine, err := policy.Parse([]byte(file), "test.yaml", policy.Options{})
	if err != nil {
		r.Fatal(err)
	}
	return fixedPolicy{engine, []string{"the policy is wrong"}}
}

type fixedPolicy struct {
	*policy.Engine
	notices []string
}

func (p fixedPolicy) Notices() []string { return p.notices }

const testRules = `
version: 1
rules:
  - {tool: shell:run, command: "ls *", action: allow}
  - {tool: shell:run, command: "grep *", action: allow}
  - {tool: shell:run, command: "git push *", action: deny, message: Pushing is for people, name: no-push}
  - {tool: shell:run, command: "make *", action: confirm, level: WARN, message: Builds things, timeout: 5m}
  - {tool: net:*, action: confirm, level: INFO, timeout: 1s}
`

// run is a call of a shell tool, asked about first.
func run(id, command string, got *agenthost.Answer) []step {
	input, _ := json.Marshal(map[string]string{"command": command})
	return []step{callTool(id, "Bash", string(input)), func(ctx context.Context, out agenthost.Output) error {
		a, err := out.Confirm(ctx, agenthost.Question{Prompt: "Run it?", ToolCallID: id, ToolName: "Bash"})
		if got != nil {
			*got = a
		}
		if err != nil {
			return err
		}
		return out.ToolResult(agenthost.ToolResult{ID: id, Output: json.RawMessage(`"done"`), Denied: !a.Approved})
	}}
}

// interactions are the interactions that the broker got.
func (r *rig) interactions(session string) []protocol.Event {
	r.Helper()
	r.delivered()
	var out []protocol.Event
	for _, e := range r.broker.of(session) {
		if e.Type == protocol.EventInteraction {
			out = append(out, e)
		}
	}
	return out
}

func TestWhatTheRulesAllowIsNotAskedAndOnRecord(t *testing.T) {
	t.Parallel()
	r := newRig(t).underPolicy(testRules)
	var got agenthost.Answer
	wantLines(t, "parts", types(r.turn("s1", "t1", run("c1", "ls -l", &got)...)),
		[]string{"tool-call", "tool-result", "finish"})
	if got != (agenthost.Answer{Approved: true}) {
		t.Errorf("got %+v", got)
	}
	events := r.interactions("s1")
	if len(events) != 1 || events[0].State != protocol.InteractionResolved || !*events[0].Answer.Approved ||
		events[0].Answer.Reason != "policy: rule 1" || events[0].ToolCallID != "c1" {
		t.Errorf("interactions: %+v", events)
	}
	r.wantCode("an answer to it",
		r.host.Answer(t.Context(), "s1", events[0].InteractionID, &protocol.AnswerRequest{Approved: no()}),
		protocol.CodeAnswered)
}

// Agents ask for each file that they read, so a built-in allow leaves no event.
func TestWhatABuiltInRuleAllowsIsNotAskedAndLeavesNoEvent(t *testing.T) {
	t.Parallel()
	r := newRig(t).underPolicy(testRules)
	var got agenthost.Answer
	frames := r.turn("s1", "t1",
		callTool("c1", "Read", `{"file_path":"a.txt"}`), func(ctx context.Context, out agenthost.Output) (err error) {
			got, err = out.Confirm(ctx, agenthost.Question{
				ToolCallID: "c1", ToolName: "Read", Args: json.RawMessage(`{"file_path":"a.txt"}`),
			})
			return err
		}, toolResult("c1", `"text"`))
	wantLines(t, "parts", types(frames), []string{"tool-call", "tool-result", "finish"})
	if events := r.interactions("s1"); got != (agenthost.Answer{Approved: true}) || len(events) > 0 {
		t.Errorf("got %+v, interactions: %+v", got, events)
	}
}

func TestWhatTheRulesDenyIsReportedToTheAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t).underPolicy(testRules)
	var got agenthost.Answer
	frames := r.turn("s1", "t1", run("c1", "ls && git push origin", &got)...)
	wantLines(t, "parts", types(frames), []string{"tool-call", "data-notice", "tool-output-denied", "finish"})
	if got != (agenthost.Answer{Reason: "Denied by policy: Pushing is for people"}) {
		t.Errorf("got %+v", got)
	}
	events := r.interactions("s1")
	if len(events) != 1 || events[0].State != protocol.InteractionResolved || *events[0].Answer.Approved ||
		events[0].Answer.Reason != "policy: no-push" {
		t.Errorf("interactions: %+v", events)
	}
}

func TestARuleShapesTheQuestion(t *testing.T) {
	t.Parallel()
	r := newRig(t).underPolicy(testRules)
	stream := r.startNew("s1", "t1", run("c1", "make all", nil)...)
	id := r.untilPart(stream, "tool-approval-request").part.ApprovalID
	events := r.interactions("s1")
	e := events[0]
	at, err := time.Parse(time.RFC3339, e.ExpiresAt)
	if e.Level != "WARN" || e.Prompt != "Run it?" || e.Warning != "Builds things" || err != nil ||
		time.Until(at) > 5*time.Minute {
		t.Errorf("question: %+v", e)
	}
	if err := r.host.Answer(t.Context(), "s1", id, &protocol.AnswerRequest{Approved: yes()}); err != nil {
		t.Fatal(err)
	}
	r.read(stream)
}

func TestARulesTimeEndsInADenial(t *testing.T) {
	t.Parallel()
	r := newRig(t).underPolicy(testRules)
	var got agenthost.Answer
	frames := r.turn("s1", "t1",
		callTool("c1", "WebFetch",
			`{"url":"https://example.com"}`), func(ctx context.Context, out agenthost.Output) (err error) {
			got, err = out.Confirm(ctx, agenthost.Question{ToolCallID: "c1", ToolName: "WebFetch"})
			return err
		})
	if got.Approved || !got.Expired {
		t.Errorf("got %+v", got)
	}
	if !slices.Contains(types(frames), "tool-approval-response") {
		t.Errorf("parts: %q", types(frames))
	}
}

func TestAPermissionForTheSessionNeverCoversCriticalCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t).underPolicy(testRules)
	stream := r.startNew("s1", "t1", run("c1", "touch a", nil)...)
	id := r.untilPart(stream, "tool-approval-request").part.ApprovalID
	if err := r.host.Answer(t.Context(), "s1", id, &protocol.AnswerRequest{
		Approved: yes(), Remember: "session", By: "u1",
	}); err != nil {
		t.Fatal(err)
	}
	r.read(stream)
	resolved := r.interactions("s1")
	if a := resolved[len(resolved)-1].Answer; a.Remembered != "INFO touch; INFO file:write in the workspace" ||
		a.By != "u1" {
		t.Errorf("journaled: %+v", a)
	}
	wantLines(t, "another one", types(r.turn("s1", "t2", run("c1", "touch b", nil)...)),
		[]string{"tool-call", "tool-result", "finish"})
	stream = r.startNew("s1", "t2b", run("c1", "touch -c b", nil)...)
	id = r.untilPart(stream, "tool-approval-request").part.ApprovalID // another shape
	if err := r.host.Answer(t.Context(), "s1", id, &protocol.AnswerRequest{Approved: no()}); err != nil {
		t.Fatal(err)
	}
	r.read(stream)
	wantLines(t, "a denied one", types(r.turn("s1", "t3", run("c1", "git push", nil)...)), []string{
		"tool-call", "data-notice", "tool-output-denied", "finish",
	})

	stream = r.startNew("s1", "t4", run("c1", "touch c; rm -rf /", nil)...)
	if part := r.untilPart(stream, "tool-approval-request"); part.part.ApprovalID == "" {
		t.Fatal("a critical call was not asked")
	}
	if err := r.host.Interrupt(t.Context(), "s1", ""); err != nil {
		t.Fatal(err)
	}
	last := r.interactions("s1")
	if e := last[len(last)-1]; e.Level != "CRITICAL" {
		t.Errorf("the last question: %+v", e)
	}
}

func TestAnAgentsOwnCriticalIsAskedWhereOnlyABuiltInRuleAllows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules string
		asked bool
	}{
		"a built-in rule allows reading, the agent warns": {"version: 1", true},
		"the operator allows it in so many words":         {"version: 1\nrules: [{tool: 'file:read', action: allow}]", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t).underPolicy(c.rules)
			stream := r.startNew("s1", "t1", func(ctx context.Context, out agenthost.Output) error {
				_, err := out.Confirm(ctx, agenthost.Question{
					ToolName: "Read", Args: json.RawMessage(`{"file_path":"a"}`), Level: "CRITICAL",
				})
				return err
			})
			if c.asked {
				r.untilPart(stream, "tool-approval-request")
				if err := r.host.Interrupt(t.Context(), "s1", ""); err != nil {
					t.Fatal(err)
				}
				return
			}
			wantLines(t, "parts", types(r.read(stream)), []string{"finish"})
		})
	}
}

func TestADeniedCallThatWasNotAskedIsReported(t *testing.T) {
	t.Parallel()
	r := newRig(t).underPolicy(testRules)
	frames := r.turn("s1", "t1",
		callTool("c1", "Bash", `{"command":"git push"}`), toolResult("c1", `"pushed"`),
		callTool("c2", "Bash", `{"command":"make"}`), toolResult("c2", `"made"`))
	wantLines(t, "parts", types(frames), []string{
		"tool-call", "data-notice", "tool-result", "tool-call", "tool-result", "finish",
	})
	if notice := string(frames[1].part.Data); !strings.Contains(notice,
		"Bash ran without asking, and the policy denies it: Pushing is for people") {
		t.Errorf("notice: %s", notice)
	}
}

func TestStatusShowsThatThePolicyIsWrong(t *testing.T) {
	t.Parallel()
	r := newRig(t).underPolicy(testRules)
	status, err := r.host.Status(t.Context())
	if err != nil || !slices.Contains(status.Notices, "the policy is wrong") {
		t.Errorf("notices: %q, %v", status.Notices, err)
	}
}

// holding is a Workspaces whose workspace has one file.
type holding struct {
	directories
	file string
	err  error
}

func (h holding) EachFile(_ context.Context, _, _ string, each func(path string, isIgnored bool)) error {
	if h.err == nil {
		each(h.file, false)
	}
	return h.err
}

// The host lists the files of the workspace for calls that read whole directories.
func TestAQuestionAboutASearchNamesTheSecretThatItReads(t *testing.T) {
	t.Parallel()
	for want, h := range map[string]holding{
		"Reads conf/x.pem. This file may hold secrets":                        {file: "conf/x.pem"},
		"Reads files of the workspace, and which these are could not be seen": {err: errors.New("too many files")},
		"": {file: "conf/x.go"},
	} {
		r := newRig(t)
		h.directories = directories{t.TempDir()}
		r.options = func(o *agenthost.Options) { o.Policy, o.Workspaces = r.policy(testRules), h }
		r.start()
		if want == "" {
			var got agenthost.Answer
			r.turn("s1", "t1", run("c1", "ls; grep -r key .", &got)...)
			if got != (agenthost.Answer{Approved: true}) {
				t.Errorf("got %+v", got)
			}
			continue
		}
		stream := r.startNew("s1", "t1", run("c1", "grep -r key .", nil)...)
		r.untilPart(stream, "tool-approval-request")
		if e := r.interactions("s1")[0]; e.Warning != want || e.Level != "WARN" {
			t.Errorf("%s question says %q, want %q", e.Level, e.Warning, want)
		}
	}
}
