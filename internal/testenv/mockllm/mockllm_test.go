package mockllm

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask posts a body and returns the status and the text; the text of a cut response ends in
// "CUT".
func ask(t *testing.T, s *Server, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return answer.StatusCode, string(raw) + "CUT"
	}
	return answer.StatusCode, string(raw)
}

const shellTool = `{"name":"Bash","input_schema":{"properties":{"command":{}}}}`

// dialects are requests with a prompt in place of %.
var dialects = map[string]struct{ path, body, call string }{
	Anthropic: {
		"/v1/messages",
		`{"model":"m","stream":true,"tools":[` + shellTool +
			`],"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>SLOW</system-reminder>"},{"type":"text","text":"%"}]}]}`,
		`"name":"Bash"`,
	},
	Chat: {
		"/v1/chat/completions",
		`{"model":"m","stream":true,"tools":[{"function":{"name":"bash","parameters":{"properties":{"command":{}}}}}],"messages":[{"role":"user","content":"%"}]}`,
		`"name":"bash"`,
	},
	Responses: {
		"/v1/responses",
		`{"model":"m","stream":true,"tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"shell","parameters":{}}]}],"input":[{"role":"user","content":"%"}]}`,
		`"namespace":"n"`,
	},
	Gemini: {
		"/v1beta/models/m:streamGenerateContent",
		`{"tools":[{"functionDeclarations":[{"name":"run_shell_command","parametersJsonSchema":{"properties":{"command":{}}}}]}],"contents":[{"role":"user","parts":[{"text":"%"}]}]}`,
		`"name":"run_shell_command"`,
	},
}

func TestEveryDialectStreams(t *testing.T) {
	t.Parallel()
	for name, d := range dialects {
		t.Run(name, func(t *testing.T) {
			s := New(t)
			ask := func(prompt string) (int, string) {
				return ask(t, s, d.path, strings.Replace(d.body, "%", prompt, 1))
			}
			if _, answer := ask("hi"); !strings.Contains(answer, "mock ") || strings.HasSuffix(answer, "CUT") {
				t.Errorf("hi: %s", answer)
			}
			if _, answer := ask("BASH echo hi"); !strings.Contains(answer, d.call) || !strings.Contains(answer, "echo hi") {
				t.Errorf("BASH: %s", answer)
			}
			if _, answer := ask("THINK"); !strings.Contains(answer, "about it.") {
				t.Errorf("THINK: %s", answer)
			}
			if _, answer := ask("DROP"); !strings.HasSuffix(answer, "CUT") || !strings.Contains(answer, "half ") {
				t.Errorf("DROP: %s", answer)
			}
			if status, answer := ask("FAIL429"); status != 429 || !strings.Contains(answer, "mock error 429") {
				t.Errorf("FAIL429: %d %s", status, answer)
			}
			if got := s.Requests(); len(got) != 5 || got[1].Prompt != "BASH echo hi" || got[0].Dialect != name ||
				got[0].Model != "m" {
				t.Errorf("noted %+v", got)
			}
		})
	}
}

func TestResultsAndNewPrompts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, body, want string }{
		"Anthropic, after a result": {
			"/v1/messages",
			`{"tools":[` + shellTool +
				`],"messages":[{"role":"user","content":"BASH x"},{"role":"user","content":[{"type":"tool_result","content":"42"}]}]}`,
			"All done. Tool said: 42",
		},
		"Anthropic, behind a failure": {
			"/v1/messages",
			`{"tools":[` + shellTool +
				`],"messages":[{"role":"user","content":[{"type":"text","text":"FAIL400"},{"type":"text","text":"hi"}]}]}`,
			"Hello from the mock LLM.",
		},
		"Anthropic, text behind it": {
			"/v1/messages",
			`{"tools":[` + shellTool +
				`],"messages":[{"role":"user","content":[{"type":"tool_result","content":"42"},{"type":"text","text":"[Request interrupted by user]"},{"type":"text","text":"hi"}]}]}`,
			"Hello from the mock LLM.",
		},
		"chat, after a result": {
			"/v1/chat/completions",
			`{"tools":[{"function":{"name":"bash"}}],"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"c"}]},{"role":"tool","tool_call_id":"c","content":"42"}]}`,
			"All done. Tool said: 42",
		},
		"chat, a result alone": {
			"/v1/chat/completions",
			`{"tools":[{"function":{"name":"bash"}}],"messages":[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"c","content":"42"}]}`,
			"must be a response",
		},
		"chat, a call without": {
			"/v1/chat/completions",
			`{"tools":[{"function":{"name":"bash"}}],"messages":[{"role":"assistant","tool_calls":[{"id":"c"}]},{"role":"user","content":"x"}]}`,
			"must be followed",
		},
		"a request without tools": {
			"/v1/messages", `{"messages":[{"role":"user","content":"WRITE x"}]}`, "Mock title",
		},
		"an answer that does not stream": {
			"/v1/messages", `{"tools":[` + shellTool + `],"messages":[{"role":"user","content":"BASH ls"}]}`,
			`"input":{"command":"ls"}`,
		},
		"a call of code with a word": {
			"/v1/messages",
			`{"tools":[{"name":"save"},` + shellTool +
				`],"messages":[{"role":"user","content":"CALL save {\"code\":\"-- BASH SLOW READ FAIL500\"}"}]}`,
			`"input":{"code":"-- BASH SLOW READ FAIL500"}`,
		},
		"no JSON": {"/v1/messages", `x`, "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, answer := ask(t, New(t), c.path, c.body); !strings.Contains(answer, c.want) {
				t.Errorf("got %s", answer)
			}
		})
	}
}

func TestHangEndsWithItsClient(t *testing.T) {
	t.Parallel()
	s := New(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	d := dialects[Chat]
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+d.path,
		strings.NewReader(strings.Replace(d.body, "%", "HANG", 1)))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err == nil {
		_, err = io.ReadAll(answer.Body)
		answer.Body.Close()
	}
	if err == nil {
		t.Error("it did not hang")
	}
}
