package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

// Messages of the fake.
const (
	begins = `{"type":"system","subtype":"init","session_id":"${SESSION}"}`
	echo   = `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"go"}]},"uuid":"${PROMPT}","isReplay":true}`
	ends   = `{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","stop_reason":"end_turn"}`
	works  = `{"type":"system","subtype":"session_state_changed","state":"running"}`
	idle   = `{"type":"system","subtype":"session_state_changed","state":"idle"}`
	cut    = `{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming"}`
	taken  = `{"type":"control_response","response":{"subtype":"success","request_id":"interrupt"}}`
)

// script joins the lines of a script for the fake. At "<" the fake waits for a line of the host.
func script(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

// turn returns the script of one turn.
func turn(lines ...string) string {
	return script(slices.Concat([]string{"<", begins, echo}, lines, []string{ends})...)
}

func delta(text string) string {
	return fmt.Sprintf(`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":%q}},"parent_tool_use_id":null}`, text)
}

func block(parent, content string) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"id":"m1","content":[%s]},"parent_tool_use_id":%s,"task_description":"look"}`, content, parent)
}

func fullText(text string) string {
	return block("null", fmt.Sprintf(`{"type":"text","text":%q}`, text))
}

func use(parent, id, name string) string {
	return block(parent, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{"p":1}}`, id, name))
}

func gives(id, more string) string {
	return fmt.Sprintf(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q%s}]}}`,
		id, more)
}

func wants(request, id, name, input string) string {
	return fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":{"subtype":"can_use_tool","tool_name":%q,"display_name":%q,"description":"it","input":%s,"tool_use_id":%q,`+
		`"permission_suggestions":[{"type":"setMode","mode":"acceptEdits","destination":"session"},{"type":"addRules","rules":[{"toolName":"W"}],"behavior":"allow","destination":"localSettings"}]}}`, request, name, name, input, id)
}

// Each case has the name of the error that a wrong mapping would cause.
func TestTraps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines  []string
		answer agenthost.Answer
		shown  []string
	}{
		"one assistant line per content block, with the same message id": {
			[]string{
				delta("on"), delta("e"), fullText("one"), delta("two"), fullText("two"),
				use("null", "a", "ls"), gives("a", `,"content":"x"`),
			},
			agenthost.Answer{},
			[]string{
				`text "on"`, `text "e"`, `end "one"`, `text "two"`, `end "two"`,
				`call a ls {"p":1}`, `result a ls "x" error=false denied=false`,
			},
		},
		"a replayed user message and the program's texts to the model are not shown": {
			[]string{
				echo, `{"type":"user","message":{"content":"<local-command-stdout>x</local-command-stdout>"},"isReplay":true}`,
				fullText("hi"),
			},
			agenthost.Answer{},
			[]string{`end "hi"`},
		},
		"the final text wins over a stream that was cut and tried again": {
			[]string{
				delta("half a"),
				`{"type":"system","subtype":"api_retry","attempt":1,"max_retries":2,"error":"rate_limit","error_status":429}`,
				delta("half a text"), fullText("half a text"),
			},
			agenthost.Answer{},
			[]string{
				`text "half a"`, `notice warning"The model does not answer (rate_limit 429), try 1 of 2 again"`,
				`text "half a text"`, `end "half a text"`,
			},
		},
		"a sub-agent's call in the middle of a text repeats no part of the text": {
			[]string{delta("one "), use(`"p"`, "s1", "ls"), delta("two"), gives("s1", ""), fullText("one two")},
			agenthost.Answer{},
			[]string{`text "one "`, `call s1 ls {"p":1}`, `text "two"`, `result s1 ls "" error=false denied=false`, `end "two"`},
		},
		"a sub-agent's text becomes a notice, and its stream is left out": {
			[]string{
				strings.Replace(delta("sub"), "null", `"p"`, 1),
				block(`"p"`, `{"type":"thinking","thinking":"hm"},{"type":"text","text":"found"}`), fullText("main"),
			},
			agenthost.Answer{},
			[]string{`notice info"Sub-agent look: found"`, `end "main"`},
		},
		"a permission request before its call announces it, once": {
			[]string{wants("r1", "a", "W", `{"p":1}`), "<", use("null", "a", "W"), gives("a", `,"content":"ok"`)},
			agenthost.Answer{Approved: true},
			[]string{`call a W {"p":1}`, `confirm "Allow W: it" a W {"p":1} []`, `result a W "ok" error=false denied=false`},
		},
		"a denial by the host counts, also in versions that do not report it": {
			[]string{
				use("null", "a", "W"), wants("r1", "a", "W", `{"p":1}`), "<", gives("a", `,"content":"no","is_error":true`),
			},
			agenthost.Answer{},
			[]string{`call a W {"p":1}`, `confirm "Allow W: it" a W {"p":1} []`, `result a W "no" error=false denied=true`},
		},
		"a tool that fails after a yes is no denial": {
			[]string{
				use("null", "a", "W"), wants("r1", "a", "W", `{"p":1}`),
				"<", gives("a", `,"content":"Exit code 3","is_error":true`),
			},
			agenthost.Answer{Approved: true},
			[]string{
				`call a W {"p":1}`, `confirm "Allow W: it" a W {"p":1} []`, `result a W "Exit code 3" error=true denied=false`,
			},
		},
		"a result in blocks is a text, one with an image stays": {
			[]string{
				use("null", "a", "R"), gives("a", `,"content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]`),
				use("null", "b", "R"), gives("b", `,"content":[{"type":"image"}]`),
			},
			agenthost.Answer{},
			[]string{
				`call a R {"p":1}`, `result a R "x\ny" error=false denied=false`,
				`call b R {"p":1}`, `result b R [{"type":"image"}] error=false denied=false`,
			},
		},
		"thinking that was not streamed is not lost": {
			[]string{block("null", `{"type":"thinking","thinking":"hm"}`), fullText("so")},
			agenthost.Answer{},
			[]string{`reasoning "hm"`, `end "so"`},
		},
		"a call without a result gets one": {
			[]string{use("null", "a", "ls")},
			agenthost.Answer{},
			[]string{`call a ls {"p":1}`, `result a ls "the agent gave no result" error=true denied=false`},
		},
		"invalid lines are skipped and reported, and the stream continues": {
			[]string{
				fullText("a"), "raw: Loading…", "raw: [1]", "raw: ", `{"type":"assistant","message":{"content":[1]}}`,
				gives("unknown", ""), "raw: {}", `{"type":"dance"}`, `{"type":"system","subtype":"unheard_of"}`, fullText("b"),
			},
			agenthost.Answer{},
			[]string{
				`end "a"`, `notice warning"The agent sent a line that is no message: Loading\\u2026"`,
				`notice warning"The agent sent a line that is no message: [1]"`,
				`notice warning"The agent sent a message of type \"assistant\" that cannot be read"`, `end "b"`,
				`notice warning"The agent sent 2 further unusable lines"`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, out := open(t, opening{}, turn(c.lines...)), providertest.Answering(c.answer)
			s.run(t, out)
			if got := shown(out)[1:]; !slices.Equal(got, c.shown) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.shown, "\n"))
			}
		})
	}
}

func TestALineOver12MiBFailsTheTurn(t *testing.T) {
	t.Parallel()
	s, out := open(t, opening{}, turn(fmt.Sprintf("big: %d", protocol.MaxLine+1), fullText("still here"))), &providertest.Recorder{}
	outcome := s.run(t, out)
	const want = "The agent claude sent a line over 12 MiB, which the host does not read. The turn was stopped"
	if outcome.FinishReason != protocol.FinishError || outcome.Err != want {
		t.Errorf("got %+v", outcome)
	}
	if got := out.Texts(); !slices.Equal(got, []string{"still here"}) {
		t.Errorf("the texts are %q", got)
	}
}

func TestALineOf12MiBIsRead(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 11<<20)
	s, out := open(t, opening{}, turn(fullText(text))), &providertest.Recorder{}
	s.run(t, out)
	if got := out.Texts(); len(got) != 1 || got[0] != text {
		t.Errorf("got %d texts", len(got))
	}
}

func TestInitInEveryTurnStartsNoSession(t *testing.T) {
	t.Parallel()
	s := open(t, opening{}, turn(fullText("one"))+turn(fullText("two")))
	first, second := &providertest.Recorder{}, &providertest.Recorder{}
	s.run(t, first)
	s.run(t, second)
	if got := shown(second); !slices.Equal(got, []string{`end "two"`}) {
		t.Errorf("got %q", got)
	}
	if got := lives(t, s.spec.StateDir); len(got) != 1 {
		t.Errorf("started %d times", len(got))
	}
}

// The program's suggestions would switch the session to acceptEdits and write
// .claude/settings.local.json into the user's repository.
func TestPermissionSuggestionsAreNeverSentBack(t *testing.T) {
	t.Parallel()
	s := open(t, opening{}, turn(wants("r1", "a", "W", `{"p":1}`), "<", gives("a", "")))
	s.run(t, providertest.Answering(agenthost.Answer{Approved: true}))
	want := `{"response":{"request_id":"r1","response":{"behavior":"allow","updatedInput":{"p":1}},"subtype":"success"},"type":"control_response"}`
	if got := received(t, s.spec.StateDir); got[1] != want {
		t.Errorf("got %s", got[1])
	}
}

func TestQuestionsOfTheProgramAreAnswered(t *testing.T) {
	t.Parallel()
	questions := `{"questions":[{"question":"Colour?","options":[{"label":"Red","description":"warm"},{"label":"Blue"}]},{"question":"Size?"}],"more":1}`
	for name, c := range map[string]struct {
		answers []agenthost.Answer
		want    string
	}{
		"each has its own answer": {
			[]agenthost.Answer{{Text: "Blue"}, {Text: "L"}},
			`{"behavior":"allow","updatedInput":{"answers":{"Colour?":"Blue","Size?":"L"},"more":1,"questions":[{"options":[{"description":"warm","label":"Red"},{"label":"Blue"}],"question":"Colour?"},{"question":"Size?"}]}}`,
		},
		"an expired question denies the tool": {
			[]agenthost.Answer{{Text: "Blue"}, {Expired: true}},
			`{"behavior":"deny","message":"The user did not answer in time."}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			out := &providertest.Recorder{Decide: func(context.Context, string, agenthost.Question) (agenthost.Answer, error) {
				asked++
				return c.answers[asked-1], nil
			}}
			s := open(t, opening{}, turn(wants("r1", "a", "AskUserQuestion", questions), "<", gives("a", `,"is_error":true`)))
			s.run(t, out)
			want := `{"response":{"request_id":"r1","response":` + c.want + `,"subtype":"success"},"type":"control_response"}`
			if got := received(t, s.spec.StateDir); got[1] != want {
				t.Errorf("got %s", got[1])
			}
			if got := out.Of(providertest.KindAsk); len(got) != 2 || got[0].Question.Prompt != "Colour?\n- Red: warm" ||
				!slices.Equal(got[0].Question.Options, []string{"Red", "Blue"}) {
				t.Errorf("asked %+v", got)
			}
		})
	}
}

// many returns several requests and their cancellations, so that the test does not
// pass by luck.
func many(each string) (requests, cancels []string) {
	for i := range 10 {
		id := fmt.Sprintf("r%d", i)
		requests = append(requests, wants(id, id, "W", "{}"))
		cancels = append(cancels, `{"type":"control_cancel_request","request_id":"`+id+`"}`)
		if each != "" {
			cancels = append(cancels, gives(id, each))
		}
	}
	return requests, cancels
}

func TestARequestThatTheProgramCancelsIsCancelled(t *testing.T) {
	t.Parallel()
	cancelled := make(chan error, 10)
	out := &providertest.Recorder{
		Decide: func(ctx context.Context, _ string, _ agenthost.Question) (agenthost.Answer, error) {
			<-ctx.Done()
			cancelled <- context.Cause(ctx)
			return agenthost.Answer{Approved: true}, nil // too late to count
		},
	}
	requests, cancels := many(`,"is_error":true`)
	unknown := `{"type":"control_cancel_request","request_id":"unknown"}`
	s := open(t, opening{},
		turn(slices.Concat(requests, cancels, []string{unknown, fullText("continuing")})...)+turn(fullText("two")))
	s.run(t, out)
	for range requests {
		if err := <-cancelled; !errors.Is(err, context.Canceled) || errors.Is(err, agenthost.ErrExpired) {
			t.Errorf("ended by %v", err)
		}
	}
	s.run(t, &providertest.Recorder{})
	if got := received(t, s.spec.StateDir); len(got) != 2 {
		t.Errorf("the program got %q", got)
	}
}

func TestARequestOfAnUnknownKindIsAnswered(t *testing.T) {
	t.Parallel()
	s := open(t, opening{}, turn(`{"type":"control_request","request_id":"r1","request":{"subtype":"elicitation"}}`, "<"))
	s.run(t, &providertest.Recorder{})
	want := `{"response":{"error":"not supported","request_id":"r1","subtype":"error"},"type":"control_response"}`
	if got := received(t, s.spec.StateDir); got[1] != want {
		t.Errorf("got %s", got[1])
	}
}

func TestAPermissionBetweenTurnsIsDenied(t *testing.T) {
	t.Parallel()
	s := open(t, opening{}, turn()+script(wants("r1", "a", "W", "{}"), "<"))
	s.run(t, &providertest.Recorder{})
	got := received(t, s.spec.StateDir)
	for len(got) < 2 && t.Context().Err() == nil {
		runtime.Gosched()
		got = received(t, s.spec.StateDir)
	}
	if !strings.Contains(got[1], `"behavior":"deny"`) {
		t.Errorf("got %q", got)
	}
}

func TestAMessageWhileBusyIsRefused(t *testing.T) {
	t.Parallel()
	out, second := &providertest.Recorder{}, error(nil)
	var s *subject
	out.Decide = func(ctx context.Context, _ string, _ agenthost.Question) (agenthost.Answer, error) {
		_, second = s.Run(ctx, agenthost.Prompt{Text: "more"}, &providertest.Recorder{})
		return agenthost.Answer{}, nil
	}
	s = open(t, opening{}, turn(wants("r1", "a", "W", "{}"), "<", gives("a", "")))
	s.run(t, out)
	if second == nil || len(received(t, s.spec.StateDir)) != 2 {
		t.Errorf("got %v", second)
	}
}

func TestAttachmentsAreSentWithTheText(t *testing.T) {
	t.Parallel()
	s, out := open(t, opening{}, turn()), &providertest.Recorder{}
	_, err := s.Run(t.Context(),
		agenthost.Prompt{Text: "look", Attachments: []protocol.Attachment{{
			Type: "image", MediaType: "image/png", Name: "a.png", Data: "aGk=",
		}, {
			Type: "document", MediaType: "text/x-go", Name: "a.go", Data: "aGk=",
		}, {
			Type: "document", MediaType: "application/pdf", Data: "aGk=",
		}}}, out)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"message":{"content":[{"source":{"data":"aGk=","media_type":"image/png","type":"base64"},"type":"image"},` +
		`{"source":{"data":"hi","media_type":"text/plain","type":"text"},"title":"a.go","type":"document"},` +
		`{"source":{"data":"aGk=","media_type":"application/pdf","type":"base64"},"type":"document"},{"text":"look","type":"text"}],"role":"user"},"parent_tool_use_id":null,"type":"user"}`
	if got := received(t, s.spec.StateDir); got[0] != want {
		t.Errorf("got %s", got[0])
	}
}

// The program does not answer an id that it has seen before.
func TestEveryPromptHasANewID(t *testing.T) {
	t.Parallel()
	s := open(t, opening{}, turn()+turn())
	s.run(t, &providertest.Recorder{})
	s.run(t, &providertest.Recorder{})
	ids := map[string]bool{}
	for _, line := range noted(t, filepath.Join(s.spec.StateDir, "received")) {
		var prompt struct{ UUID string }
		if err := json.Unmarshal([]byte(line), &prompt); err != nil {
			t.Fatal(err)
		}
		if prompt.UUID != "" {
			ids[prompt.UUID] = true
		}
	}
	if len(ids) != 2 {
		t.Errorf("got %v", ids)
	}
}
