package local_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"bellhop/protocol"
)

func TestStatusOfHooks(t *testing.T) {
	t.Parallel()
	const me = `"session_id":"tui",`
	type state struct {
		status protocol.Status
		reason string
	}
	idle, busy, waiting := state{protocol.StatusIdle, ""}, state{protocol.StatusBusy, ""}, state{
		protocol.StatusIdle, protocol.ReasonWaiting,
	}
	for _, c := range []struct {
		name  string
		hooks []string
		want  state
	}{
		{"a prompt is work", []string{`{` + me + `"hook_event_name":"UserPromptSubmit","prompt":"go"}`}, busy},
		{
			"a stop ends it",
			[]string{`{` + me + `"hook_event_name":"UserPromptSubmit"}`, `{` + me + `"hook_event_name":"Stop"}`},
			idle,
		},
		{"a stop by an error of the model ends the turn", []string{
			`{` + me + `"hook_event_name":"UserPromptSubmit"}`,
			`{` + me + `"hook_event_name":"StopFailure","error":"rate_limit"}`,
		}, idle},
		{"a program that started is idle", []string{`{` + me + `"hook_event_name":"SessionStart","source":"startup"}`}, idle},
		{
			"a sub-agent's stop does not",
			[]string{`{` + me + `"hook_event_name":"UserPromptSubmit"}`, `{` + me + `"hook_event_name":"SubagentStop"}`},
			busy,
		},
		{
			"the end of the program ends it",
			[]string{`{` + me + `"hook_event_name":"PreToolUse"}`, `{` + me + `"hook_event_name":"SessionEnd"}`},
			idle,
		},
		{
			"a permission is waited for",
			[]string{`{` + me + `"hook_event_name":"UserPromptSubmit"}`, `{` + me + `"hook_event_name":"PermissionRequest"}`},
			waiting,
		},
		{
			"a notification may say so too",
			[]string{`{` + me + `"hook_event_name":"Notification","notification_type":"permission_prompt"}`},
			waiting,
		},
		{
			"the tool runs after it",
			[]string{`{` + me + `"hook_event_name":"PermissionRequest"}`, `{` + me + `"hook_event_name":"PostToolUse"}`},
			busy,
		},
		{
			"an unknown hook says only that there is a program",
			[]string{`{` + me + `"hook_event_name":"Telepathy","status":"busy"}`},
			idle,
		},
		{"one program is busy, another ends", []string{
			`{"session_id":"a","hook_event_name":"UserPromptSubmit"}`, `{"session_id":"b","hook_event_name":"SessionEnd"}`,
		}, busy},
		{"a status without the name of a hook", []string{`{"type":"status","status":"busy"}`}, busy},
		{
			"the end of a status in plain words",
			[]string{`{"type":"status","status":"busy"}`, `{"type":"status","status":"none"}`},
			idle,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newTestHost(t)
			_, spec := s.session()
			for _, hook := range c.hooks {
				s.hook(spec.Local.Secret, hook)
			}
			s.waitForWorkspace(spec.Dir, c.want.status, c.want.reason)
		})
	}
}

// A deny holds in a person's terminal too.
func TestThePolicyDecidesAboutCallsOfATerminal(t *testing.T) {
	t.Parallel()
	s := newTestHostUnder(t, "version: 1\nrules: [{tool: shell:run, command: echo *, action: deny, message: No echo}]",
		nil)
	_, spec := s.session()
	for name, c := range map[string]struct{ hook, want string }{
		"a rule denies it": {
			`"PreToolUse","tool_name":"Bash","tool_input":{"command":"echo x"}`,
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Denied by policy: No echo"}}`,
		},
		"it is CRITICAL": {
			`"PreToolUse","tool_name":"Bash","tool_input":{"command":"sudo ls"}`,
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"Runs with another user's rights"}}`,
		},
		"a rule asks, so the person's program decides": {
			`"PreToolUse","tool_name":"Bash","tool_input":{"command":"touch a"}`, `{}`,
		},
		"an allowed call":              {`"PreToolUse","tool_name":"Read","tool_input":{"file_path":"a"}`, `{}`},
		"a call that has ended":        {`"PostToolUse","tool_name":"Bash","tool_input":{"command":"echo x"}`, `{}`},
		"a call without a tool":        {`"PreToolUse"`, `{}`},
		"arguments that are no object": {`"PreToolUse","tool_name":"Read","tool_input":7`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := s.call(request{
				"POST", "/hook", `{"session_id":"tui","hook_event_name":` + c.hook + `}`, []string{bearer(spec.Local.Secret)},
			})
			if status != http.StatusOK || body != c.want {
				t.Errorf("got %d %s, not %s", status, body, c.want)
			}
		})
	}
}

// During a turn the host knows the status itself, so it ignores hooks of the turn's
// program.
func TestHooksOfTheTurnsOwnProgramAreIgnored(t *testing.T) {
	t.Parallel()
	s := newTestHost(t)
	id, spec := s.session()
	s.begin(id, "agent-session own\nask why?")
	s.waitForWorkspace(spec.Dir, protocol.StatusIdle, protocol.ReasonWaiting)
	s.hook(spec.Local.Secret, `{"session_id":"own","hook_event_name":"PreToolUse"}`)
	s.waitForWorkspace(spec.Dir, protocol.StatusIdle, protocol.ReasonWaiting)
	s.hook(spec.Local.Secret, `{"session_id":"another","hook_event_name":"PreToolUse"}`)
	s.waitForWorkspace(spec.Dir, protocol.StatusBusy, "")
}

func TestAccessWithSecretsAndPaths(t *testing.T) {
	t.Parallel()
	s := newTestHost(t)
	_, mine := s.session()
	_, other := s.session()
	const hook = `{"type":"status","status":"busy"}`
	for _, c := range []struct {
		name   string
		q      request
		status int
		code   string
	}{
		{"a request without a secret", request{"POST", "/hook", hook, nil}, 401, "unauthorized"},
		{"a request with a wrong secret", request{"POST", "/hook", hook, []string{bearer("bhw_x")}}, 401, "unauthorized"},
		{"a request with the host's password", request{"POST", "/hook", hook, []string{bearer("pw")}}, 401, "unauthorized"},
		{"a request with an empty secret", request{"POST", "/mcp", `{}`, []string{bearer("")}}, 401, "unauthorized"},
		{
			"no secret in another scheme",
			request{"POST", "/hook", hook, []string{"Authorization: " + mine.Local.Secret + "x"}},
			401, "unauthorized",
		},
		{
			"not for another's workspace",
			request{"POST", "/hook", hook, []string{bearer(mine.Local.Secret), "X-Workspace-Path: " + other.Dir}},
			403, "forbidden",
		},
		{
			"not for a made up one",
			request{"POST", "/mcp", `{}`, []string{bearer(mine.Local.Secret), "X-Workspace-Path: /etc"}},
			403, "forbidden",
		},
		{
			"not for a relative one",
			request{"POST", "/hook", hook, []string{bearer(mine.Local.Secret), "X-Workspace-Path: ."}},
			403, "forbidden",
		},
		{
			"not under another name of this machine",
			request{"POST", "/hook", hook, []string{bearer(mine.Local.Secret), "Host: rebind.example"}},
			403, "forbidden",
		},
		{
			"no page",
			request{"POST", "/hook", hook, []string{bearer(mine.Local.Secret), "Origin: https://evil.example"}},
			403, "forbidden",
		},
		{
			"its own workspace",
			request{"POST", "/hook", hook, []string{bearer(mine.Local.Secret), "X-Workspace-Path: " + mine.Dir}},
			200, "",
		},
		{"MCP has no stream", request{"GET", "/mcp", "", []string{bearer(mine.Local.Secret)}}, 405, "method_not_allowed"},
		{"a hook without members", request{"POST", "/hook", `{}`, []string{bearer(mine.Local.Secret)}}, 400, "invalid"},
		{
			"no unknown status",
			request{"POST", "/hook", `{"type":"status","status":"asleep"}`, []string{bearer(mine.Local.Secret)}},
			400, "invalid",
		},
		{
			"no hook without end",
			request{"POST", "/hook", strings.Repeat(" ", 4<<20) + hook, []string{bearer(mine.Local.Secret)}},
			413, "too_large",
		},
		{
			"no call without end",
			request{"POST", "/mcp", strings.Repeat(" ", 256<<10) + `{}`, []string{bearer(mine.Local.Secret)}},
			413, "too_large",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body := s.call(c.q)
			if status != c.status || c.code != "" && !strings.Contains(body, `"code":"`+c.code+`"`) {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	s.waitForWorkspace(other.Dir, protocol.StatusIdle, "")
	if strings.Contains(s.log.String(), mine.Local.Secret) {
		t.Error("the log shows a secret")
	}
}

// A restarted host accepts the secrets of programs that kept running, and logs no
// secret.
func TestASecretSurvivesARestartAndIsNeverLogged(t *testing.T) {
	t.Parallel()
	s := newTestHost(t)
	id, spec := s.session()
	for _, variable := range []string{
		"BELLHOP_WORKSPACE_PATH=" + spec.Dir, "BELLHOP_WORKSPACE_SECRET=" + spec.Local.Secret,
		"BELLHOP_MCP_PORT=" + s.url[len("http://127.0.0.1:"):], "BELLHOP_HOOK_PORT=" + s.url[len("http://127.0.0.1:"):],
	} {
		if !strings.Contains(strings.Join(spec.Env, "\n")+"\n", variable+"\n") {
			t.Errorf("%s is missing in %q", variable, spec.Env)
		}
	}
	s.turn(id, "text the secret is "+spec.Local.Secret)
	lines, err := s.host.History(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	texts := 0
	for _, l := range lines {
		if l.Content != nil && strings.Contains(*l.Content, "[redacted]") {
			texts++
		}
		if l.Content != nil && strings.Contains(*l.Content, spec.Local.Secret) {
			t.Errorf("got: %s", *l.Content)
		}
	}
	if texts == 0 {
		t.Error("nothing was masked")
	}
	s.end()
	s.start()
	s.hook(spec.Local.Secret, `{"hook_event_name":"UserPromptSubmit"}`)
	s.waitForWorkspace(spec.Dir, protocol.StatusBusy, "")
	s.turn(id, "text again")
	specs := s.fake.Specs()
	if last := specs[len(specs)-1]; last.Local.Secret != spec.Local.Secret || last.Local.HookURL != s.url+"/hook" {
		t.Errorf("the next life has %+v", last.Local)
	}
	if _, err := s.host.Delete(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if status, _ := s.call(request{
		"POST", "/hook", `{"type":"status","status":"busy"}`, []string{bearer(spec.Local.Secret)},
	}); status != http.StatusUnauthorized {
		t.Errorf("after the session: %d", status)
	}
}

// Claude Code reports a turn in its terminal by these hooks.
func TestATurnOfATerminalIsInTheHistory(t *testing.T) {
	t.Parallel()
	const call = `"tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"toolu_1"`
	prompt := func(id, text string) string {
		return `{"session_id":"tui","hook_event_name":"UserPromptSubmit","prompt_id":"` + id + `","prompt":"` + text + `"}`
	}
	hook := func(event, rest string) string {
		return `{"session_id":"tui","hook_event_name":"` + event + `"` + rest + `}`
	}
	for _, c := range []struct {
		name  string
		hooks []string
		want  string // the lines after those of the host's own turn
	}{
		{"a turn with a call", []string{
			prompt("p1", "list"), hook("PreToolUse", ","+call), hook("PostToolUse", ","+call+`,"tool_response":{"stdout":"a"}`),
			hook("Stop", `,"last_assistant_message":"One file"`),
		}, `input list, tool_start Bash, tool_message {"stdout":"a"}, message One file, state done`},
		{"a turn in which a call and the model fail", []string{
			prompt("p1", "list"), hook("PreToolUse", ","+call), hook("PostToolUseFailure", ","+call+`,"error":"Exit code 3"`),
			hook("StopFailure", `,"error":"rate_limit"`),
		}, "input list, tool_start Bash, tool_message Exit code 3, status rate_limit, state error"},
		{"a turn left by Esc before another prompt", []string{
			prompt("p1", "one"), prompt("p2", "two"), hook("Stop", `,"last_assistant_message":"Two"`),
		}, "input one, state interrupted, input two, message Two, state done"},
		{
			"a turn left with its program",
			[]string{prompt("p1", "one"), hook("SessionEnd", "")},
			"input one, state interrupted",
		},
		{"a turn reported twice", []string{
			prompt("p1", "one"), hook("Stop", ""), prompt("p1", "one"), hook("Stop", ""),
			prompt("p2", "two"), hook("Stop", ""),
		}, "input one, state done, input two, state done"},
		{"turns of two programs", []string{
			prompt("p1", "one"), strings.Replace(prompt("p2", "two"), "tui", "tui2", 1), hook("Stop", ""),
			strings.Replace(hook("Stop", ""), "tui", "tui2", 1),
		}, "input one, state done, input two, state done"},
		{"reports without a prompt", []string{
			hook("PreToolUse", ","+call), hook("Stop", `,"last_assistant_message":"x"`), prompt("p9", "end"), hook("Stop", ""),
		}, "input end, state done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newTestHost(t)
			id, spec := s.session()
			for _, hook := range c.hooks {
				s.hook(spec.Local.Secret, hook)
			}
			for limit := time.Now().Add(testTimeout); ; runtime.Gosched() {
				got := s.linesOfTerminal(id)
				if got == c.want {
					break
				}
				if time.Now().After(limit) || !strings.HasPrefix(c.want, got) {
					t.Fatalf("got  %s\nwant %s", got, c.want)
				}
			}
		})
	}
}

// linesOfTerminal returns the lines of the turns that the host did not begin.
func (s *testHost) linesOfTerminal(id string) string {
	s.Helper()
	lines, err := s.host.History(s.Context(), id)
	if err != nil {
		s.Fatal(err)
	}
	var out []string
	own := false
	for _, l := range lines {
		if l.Type == protocol.LineInput {
			own = strings.HasPrefix(*l.Text, "text ")
		}
		if own {
			continue
		}
		detail := l.Name + l.Message + l.Reason
		switch {
		case l.Type == protocol.LineToolMessage:
			detail = *l.Content
		case l.Content != nil:
			detail += *l.Content
		case l.Text != nil:
			detail += *l.Text
		}
		out = append(out, l.Type+" "+detail)
	}
	return strings.Join(out, ", ")
}
