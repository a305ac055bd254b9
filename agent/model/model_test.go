package model

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/agent"
	"bellhop/internal/testenv/mockllm"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-test-0123456789"

// both are the dialects under test with the path of their base URL.
var both = map[string]string{"anthropic/mock-1": "/", "openai/mock-1": "/v1"}

// open returns a model that uses the fake provider. waits records the pauses between attempts,
// which are skipped.
func open(t *testing.T, llm *mockllm.Server, name string, waits *[]time.Duration) *Model {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	m, err := Open(name, Options{BaseURL: llm.URL + both[name], Key: key, Client: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	m.Completer.(*completer).pause = func(ctx context.Context, d time.Duration) error {
		if waits != nil {
			*waits = append(*waits, d)
		}
		return ctx.Err()
	}
	return m
}

// tools are like those of the agent.
func tools() []agent.ToolSpec {
	schema := func(names ...string) []byte {
		properties := []string{}
		for _, n := range names {
			properties = append(properties, fmt.Sprintf(`%q:{"type":"string"}`, n))
		}
		return []byte(`{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":["` +
			strings.Join(names, `","`) + `"]}`)
	}
	return []agent.ToolSpec{
		{Name: agent.ToolWriteFile, Description: "Write.", Schema: schema("path", "content")},
		{Name: agent.ToolRunCommand, Description: "Run.", Schema: schema("command")},
	}
}

// text is a completion in one line of text.
func complete(ctx context.Context, m agent.Completer, conversation ...agent.Message) (text string, err error) {
	var parts []string
	for delta, e := range m.Complete(ctx, conversation, tools()) {
		switch {
		case e != nil:
			err = e
		case delta.Call != nil:
			parts = append(parts, delta.Call.Name+string(delta.Call.Arguments)+delta.Call.Problem)
		case delta.Usage != nil:
			parts = append(parts, fmt.Sprintf("%+v", *delta.Usage))
		case delta.Notice != "":
			parts = append(parts, "!"+delta.Notice)
		default:
			parts = append(parts, delta.Text)
		}
	}
	return strings.Join(parts, "|"), err
}

func prompt(text string) agent.Message { return agent.Message{Role: agent.RoleUser, Text: text} }

func TestACompletion(t *testing.T) {
	t.Parallel()
	const usage = "{Input:10 Output:20 Total:30 Cached:0}"
	for text, want := range map[string]string{
		"hello": "Hello |from |the |mock |LLM.|" + usage,
		"THINK": "Hello |from |the |mock |LLM.|" + usage,
		"WRITE ü.txt": "I will |write |the file.|" + usage +
			`|write_file{"content":"hello from the mock LLM\n","path":"ü.txt"}`,
		"TWO": usage +
			`|write_file{"content":"file a.txt\n","path":"a.txt"}|write_file{"content":"file b.txt\n","path":"b.txt"}`,
		"BASH echo hi": "Running |a command.|" + usage + `|run_command{"command":"echo hi"}`,
	} {
		for name := range both {
			t.Run(name+" "+text, func(t *testing.T) {
				m := open(t, mockllm.New(t), name, nil)
				if got, err := complete(t.Context(), m, prompt(text)); got != want || err != nil {
					t.Errorf("got  %s, %v\nwant %s", got, err, want)
				}
			})
		}
	}
}

func TestACompleteConversationIsSent(t *testing.T) {
	t.Parallel()
	call := agent.ToolCall{ID: "c1", Name: agent.ToolWriteFile, Arguments: []byte(`{"path":"a","content":"b"}`)}
	second := agent.ToolCall{ID: "c2", Name: agent.ToolRunCommand, Arguments: []byte(`{"command":"true"}`)}
	conversation := []agent.Message{
		{Role: agent.RoleSystem, Text: "Be brief."},
		{Role: agent.RoleUser, Text: "look", Attachments: []protocol.Attachment{{Type: "image", Data: "AAAA"}}},
		{Role: agent.RoleAssistant, Text: "ok", Calls: []agent.ToolCall{call, second}},
		{Role: agent.RoleTool, CallID: "c1", Text: "Denied by the user.", Outcome: agent.OutcomeDenied},
		{Role: agent.RoleTool, CallID: "c2", Outcome: agent.OutcomeDone},
		{Role: agent.RoleUser, Text: "go on"},
	}
	for name, want := range map[string]string{
		"anthropic/mock-1": `"messages":[{"content":[{"source":{"data":"AAAA","media_type":"image/png","type":"base64"},"type":"image"},{"text":"look","type":"text"}],"role":"user"},` +
			`{"content":[{"text":"ok","type":"text"},{"id":"c1","input":{"path":"a","content":"b"},"name":"write_file","type":"tool_use"},{"id":"c2","input":{"command":"true"},"name":"run_command","type":"tool_use"}],"role":"assistant"},` +
			`{"content":[{"tool_use_id":"c1","is_error":true,"content":[{"text":"Denied by the user.","type":"text"}],"type":"tool_result"},{"tool_use_id":"c2","is_error":false,"content":[{"text":"(no output)","type":"text"}],"type":"tool_result"},{"text":"go on","type":"text"}],"role":"user"}]`,
		"openai/mock-1": `"messages":[{"content":"Be brief.","role":"system"},{"content":[{"image_url":{"url":"data:image/png;base64,AAAA"},"type":"image_url"},{"text":"look","type":"text"}],"role":"user"},` +
			`{"content":"ok","tool_calls":[{"id":"c1","function":{"arguments":"{\"path\":\"a\",\"content\":\"b\"}","name":"write_file"},"type":"function"},{"id":"c2","function":{"arguments":"{\"command\":\"true\"}","name":"run_command"},"type":"function"}],"role":"assistant"},` +
			`{"content":"Denied by the user.","tool_call_id":"c1","role":"tool"},{"content":"(no output)","tool_call_id":"c2","role":"tool"},{"content":"go on","role":"user"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			llm := mockllm.New(t)
			if _, err := complete(t.Context(), open(t, llm, name, nil), conversation...); err != nil {
				t.Fatal(err)
			}
			asked := llm.Requests()[0]
			if body := string(asked.Body); !strings.Contains(body, want) {
				t.Errorf("sent %s\nwant %s", body, want)
			}
			if asked.Key != key || asked.Model != "mock-1" || asked.Prompt != "go on" ||
				!reflect.DeepEqual(asked.Tools(), []string{"write_file", "run_command"}) {
				t.Errorf("sent %+v", asked)
			}
		})
	}
}

func TestErrorsThatAreNotRetried(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		code protocol.Code
		text string
	}{
		"FAIL400": {protocol.CodeInvalid, "The model's provider refused the request (400): mock error 400"},
		"FAIL401": {protocol.CodeUnauthorized, "The model's provider refused the API key (401)"},
		"DROP":    {protocol.CodeBadGateway, "The model's answer broke off"},
	} {
		for name := range both {
			t.Run(name+" "+text, func(t *testing.T) {
				llm := mockllm.New(t)
				_, err := complete(t.Context(), open(t, llm, name, nil), prompt(text))
				if err == nil || err.Error() != want.text || protocol.CodeOf(err) != want.code {
					t.Errorf("got %v", err)
				}
				if n := len(llm.Requests()); n != 1 {
					t.Errorf("%d requests", n)
				}
			})
		}
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	const all = "Hello |from |the |mock |LLM.|{Input:10 Output:20 Total:30 Cached:0}"
	for rule, c := range map[string]struct {
		fail  func(*mockllm.Server)
		want  string
		err   string
		waits []time.Duration
	}{
		"Retry-After is honoured": {
			func(l *mockllm.Server) { l.FailNext(2, 429, "7") },
			"!The model's provider has too many requests (429): mock error 429; trying again in 7s|!The model's provider " +
				"has too many requests (429): mock error 429; trying again in 7s|" + all,
			"",
			[]time.Duration{7 * time.Second, 7 * time.Second},
		},
		"without it the waits grow": {
			func(l *mockllm.Server) { l.FailNext(1, 500, ""); l.FailNext(1, 529, "") },
			"!The model's provider failed (500): mock error 500; trying again in 1s|!The model's provider failed (529): " +
				"mock error 529; trying again in 2s|" + all,
			"",
			[]time.Duration{time.Second, 2 * time.Second},
		},
		"a response truncated before its first text": {
			func(l *mockllm.Server) { l.CutNext(1) },
			"!The model's answer broke off; trying again in 1s|" + all,
			"",
			[]time.Duration{time.Second},
		},
		"at most five tries": {
			func(l *mockllm.Server) { l.FailNext(5, 500, "1") },
			strings.TrimSuffix(strings.Repeat("!The model's provider failed (500): mock error 500; trying again in 1s|", 4),
				"|"),
			"The model's provider failed (500): mock error 500, 5 times",
			[]time.Duration{time.Second, time.Second, time.Second, time.Second},
		},
		"a long pause is the user's to make": {
			func(l *mockllm.Server) { l.FailNext(1, 429, "3600") },
			"", "The model's provider has too many requests (429): mock error 429, and asks for a pause of 1h0m0s", nil,
		},
	} {
		for name := range both {
			t.Run(name+" "+rule, func(t *testing.T) {
				llm := mockllm.New(t)
				c.fail(llm)
				var waits []time.Duration
				got, err := complete(t.Context(), open(t, llm, name, &waits), prompt("hello"))
				if got != c.want || !reflect.DeepEqual(waits, c.waits) {
					t.Errorf("got  %s after %v\nwant %s", got, waits, c.want)
				}
				if text := fmt.Sprint(err); c.err != "" && text != c.err || c.err == "" && err != nil {
					t.Errorf("ended with %v", err)
				}
			})
		}
	}
}

func TestAnInterruptEndsACompletion(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"HANG", "SLOW 1000"} {
		for name := range both {
			t.Run(name+" "+text, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				llm := mockllm.New(t)
				m := open(t, llm, name, nil)
				if text == "HANG" {
					time.AfterFunc(20*time.Millisecond, cancel)
				}
				var err error
				for _, e := range m.Complete(ctx, []agent.Message{prompt(text)}, tools()) {
					cancel()
					err = e
				}
				if !errors.Is(err, context.Canceled) {
					t.Errorf("ended with %v", err)
				}
			})
		}
	}
}

func TestASilentModelTimesOut(t *testing.T) {
	t.Parallel()
	for name := range both {
		m := open(t, mockllm.New(t), name, nil)
		m.Completer.(*completer).opts.Silence = 30 * time.Millisecond
		if _, err := complete(t.Context(), m, prompt("HANG")); err == nil ||
			err.Error() != "The model has been silent for 30ms" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnUnreachableProvider(t *testing.T) {
	t.Parallel()
	for name := range both {
		away, err := Open(name, Options{BaseURL: "http://127.0.0.1:1" + both[name], Key: key})
		if err != nil {
			t.Fatal(err)
		}
		away.Completer.(*completer).pause = func(context.Context, time.Duration) error { return nil }
		_, err = complete(t.Context(), away, prompt("hello"))
		want := "http://127.0.0.1:1 cannot be reached: connect: connection refused, 5 times"
		if err == nil || err.Error() != want || protocol.CodeOf(err) != protocol.CodeUnavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenNamesTheMissingOption(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		model string
		opts  Options
		want  string
	}{
		"an unknown provider": {
			"acme/x",
			Options{},
			`Unknown model "acme/x" Known are demo, anthropic/NAME, openai/NAME, openrouter/NAME, ollama/NAME`,
		},
		"no name": {
			"openai/",
			Options{Key: key},
			`Unknown model "openai/" Known are demo, anthropic/NAME, openai/NAME, openrouter/NAME, ollama/NAME`,
		},
		"no key": {
			"anthropic/claude",
			Options{},
			"Models of anthropic need an API key Set ANTHROPIC_API_KEY or ANTHROPIC_API_KEY_FILE, or take the model demo",
		},
		"no key, OpenAI": {
			"openai/gpt",
			Options{},
			"Models of openai need an API key Set OPENAI_API_KEY or OPENAI_API_KEY_FILE, or take the model demo",
		},
		"a server of one's own":   {"openai/llama", Options{BaseURL: "http://127.0.0.1:8000/v1"}, ""},
		"ollama needs no key":     {"ollama/llama3:8b", Options{}, ""},
		"a slash within the name": {"openrouter/meta/llama", Options{Key: key}, ""},
		"a base URL with a password": {
			"openai/x",
			Options{BaseURL: "http://u:p@127.0.0.1/v1"},
			"The base URL of the model's provider is not an http or https URL Give something like " +
				"http://127.0.0.1:8000/v1, without user and query",
		},
		"a base URL without scheme": {
			"openai/x",
			Options{BaseURL: "127.0.0.1:8000"},
			"The base URL of the model's provider is not an http or https URL Give something like " +
				"http://127.0.0.1:8000/v1, without user and query",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(c.model, c.opts)
			got := ""
			var e *protocol.Error
			if errors.As(err, &e) {
				got = e.Message + " " + e.Hint
			}
			if got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestErrorsNeverContainTheKey(t *testing.T) {
	t.Parallel()
	c := &completer{opts: Options{Key: key, BaseURL: "https://example.com/v1"}, provider: Providers()[1]}
	for _, status := range []int{200, 400, 401, 404, 429, 500} {
		f := c.refused(status, nil, "", "Incorrect API key provided: "+key+"\n"+strings.Repeat("x", 9999))
		if text := f.report(5, 0).Error(); strings.Contains(text, key) || len(text) > 700 || strings.Contains(text, "\n") {
			t.Errorf("%d: %s", status, text)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "0.5": 500 * time.Millisecond, "-1": 0, "soon": 0, "1e300": 0, "NaN": 0,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: %s", value, got)
		}
	}
}

func TestArgumentsThatAreNoObject(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		``: "{}", `{"a":1}`: `{"a":1}`, `null`: "{} it is null",
		`[]`:    "{} json: cannot unmarshal array into Go value of type map[string]json.RawMessage",
		`{"a":`: "{} unexpected end of JSON input",
	} {
		call := (&pieces{name: "x", arguments: []byte(raw)}).call()
		if got := strings.TrimSpace(string(call.Arguments) + " " + call.Problem); got != want {
			t.Errorf("%s: %s", raw, got)
		}
		open := calls{}
		open.at(0).arguments = []byte(raw)
		if err := open.emit(true, func(agent.Delta) bool { return true }); (err != nil) != (call.Problem != "") {
			t.Errorf("%s, cut: %v", raw, err)
		}
	}
}

func TestTheWindowLeavesRoomForTheAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		model string
		opts  Options
		want  int
	}{
		"a provider's own":       {"anthropic/x", Options{Key: key}, 200_000 - 8192},
		"another limit":          {"openai/x", Options{Key: key, MaxTokens: 28_000}, 100_000},
		"a window of one's own":  {"ollama/x", Options{Window: 20_000, MaxTokens: 1000}, 19_000},
		"never less than a half": {"ollama/x", Options{Window: 4000}, 2000},
	} {
		if m, err := Open(c.model, c.opts); err != nil || m.Window != c.want {
			t.Errorf("%s: %d, %v", name, m.Window, err)
		}
	}
}
