package api_test

import (
	"strings"
	"testing"

	"bellhop/notebook"
)

func TestBadInput(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	agent := who{s.ada, "ada"}
	book, session := s.create(agent)
	source := s.save(agent, book)
	questionFor := s.ask(s.ada, source)
	save := func(code, language string) string {
		return `{"notebookId":"` + book + `","title":"t","code":"` + code + `","language":"` + language + `","context":"c"}`
	}
	respond := "/api/coding-agent/followups/" + questionFor + "/respond"
	ofAgent := "/api/coding-agent/sources/" + source
	for _, c := range []struct {
		name               string
		who                who
		method, path, body string
		status             int
		want               string
	}{
		{
			"no caller",
			who{},
			"POST", "/api/coding-agent/notebooks", `{}`, 401,
			`{"error":"Unauthorized","code":"unauthorized","hint":"` + notebook.TokenHint + `"}`,
		},
		{
			"no caller on a route for users",
			who{},
			"GET", "/api/notebooks", "",
			401, `{"error":"Unauthorized","code":"unauthorized"}`,
		},
		{
			"another user's source to read",
			who{s.bob, "ada"},
			"GET", ofAgent, "",
			404, `{"error":"Source not found","code":"not_found"}`,
		},
		{
			"another agent's source to change",
			who{s.ada, "eve"},
			"PUT", ofAgent, `{"code":"x"}`,
			404, `{"error":"Source not found","code":"not_found"}`,
		},
		{
			"another agent's source to delete",
			who{s.ada, "eve"},
			"DELETE", ofAgent, "",
			404, `{"error":"Source not found","code":"not_found"}`,
		},
		{
			"a change without code", agent, "PUT", ofAgent, `{"description":"d"}`,
			400, `{"error":"code is required","code":"invalid"}`,
		},
		{
			"a version that is no number", agent, "PUT", ofAgent, `{"code":"x","baseVersion":-1}`,
			400, `{"error":"baseVersion must be a version's number","code":"invalid"}`,
		},
		{
			"a change of an old version", agent, "PUT", ofAgent, `{"code":"x","baseVersion":7}`, 409,
			`{"error":"The source has another version than baseVersion","code":"conflict","hint":"Read it again (get_source), and send baseVersion with its version"}`,
		},
		{
			"a change over 512 KiB", agent, "PUT", ofAgent, `{"code":"` + strings.Repeat("x", notebook.MaxCode+1) + `"}`, 413,
			`{"error":"code is larger than 524288 bytes","code":"too_large"}`,
		},
		{
			"a message to mark as read that is not there",
			who{user: s.ada},
			"POST", "/api/sources/" + source + "/conversation/read",
			`{"messageId":"x"}`, 404, `{"error":"Message not found","code":"not_found"}`,
		},
		{
			"another user's message to mark as read",
			who{user: s.bob},
			"POST", "/api/sources/" + source + "/conversation/read",
			`{"messageId":"` + questionFor + `"}`, 404, `{"error":"Source not found","code":"not_found"}`,
		},
		{
			"no message to mark as read",
			who{user: s.ada},
			"POST", "/api/sources/" + source + "/conversation/read", `{}`, 400,
			`{"error":"messageId is required","code":"invalid"}`,
		},
		{
			"an answer with nine attachments", agent, "POST", respond,
			`{"response":"r","attachments":[{},{},{},{},{},{},{},{},{}]}`, 400,
			`{"error":"there are more than 8 attachments","code":"invalid"}`,
		},
		{
			"another agent's webhook",
			who{s.ada, "eve"},
			"DELETE", "/api/coding-agent/webhook?agentSessionId=" + session, "",
			404, `{"error":"Agent session not found","code":"not_found"}`,
		},
		{
			"an agent on a route for users", agent, "GET", "/api/notebooks", "",
			403, `{"error":"This token reaches only notebooks and /mcp","code":"forbidden"}`,
		},
		{
			"no name", agent, "POST", "/api/coding-agent/notebooks", `{"agentIdentifier":"ada"}`,
			400, `{"error":"agentName is required","code":"invalid"}`,
		},
		{
			"no identifier",
			who{user: s.ada},
			"POST", "/api/coding-agent/notebooks", `{"agentName":"A"}`,
			400, `{"error":"agentIdentifier is required","code":"invalid"}`,
		},
		{
			"another agent's identifier", agent, "POST", "/api/coding-agent/notebooks",
			`{"agentName":"A","agentIdentifier":"bob"}`, 403,
			`{"error":"This token belongs to another agent","code":"forbidden","hint":"Its agentIdentifier is ada"}`,
		},
		{
			"metadata that is no object", agent, "POST", "/api/coding-agent/notebooks",
			`{"agentName":"A","agentIdentifier":"ada","metadata":[]}`, 400,
			`{"error":"metadata must be an object","code":"invalid"}`,
		},
		{
			"metadata without end", agent, "POST", "/api/coding-agent/notebooks",
			`{"agentName":"A","agentIdentifier":"ada","metadata":{"a":"` + strings.Repeat("x", 17<<10) + `"}}`, 413,
			`{"error":"metadata is larger than 16384 bytes","code":"too_large"}`,
		},
		{
			"an icon that is a program", agent, "POST", "/api/coding-agent/notebooks",
			`{"agentName":"A","agentIdentifier":"ada","agentIcon":"javascript:alert(1)"}`, 400,
			`{"error":"agentIcon is neither an emoji nor the https URL of an image","code":"invalid",` +
				`"hint":"Send an emoji, or the URL of a PNG, JPEG, GIF or WebP image of at most 256 KiB"}`,
		},
		{
			"an icon that is a story", agent, "POST", "/api/coding-agent/notebooks",
			`{"agentName":"A","agentIdentifier":"ada","agentIcon":"` + strings.Repeat("x", 65) + `"}`, 400,
			`{"error":"agentIcon is neither an emoji nor the https URL of an image","code":"invalid",` +
				`"hint":"Send an emoji, or the URL of a PNG, JPEG, GIF or WebP image of at most 256 KiB"}`,
		},
		{
			"the image of an agent without one",
			who{user: s.ada},
			"GET", "/api/agent-sessions/" + session + "/icon", "", 404,
			`{"error":"This agent has no image as its icon","code":"not_found"}`,
		},
		{
			"the image of another user's agent",
			who{user: s.bob},
			"GET", "/api/agent-sessions/" + session + "/icon", "", 404,
			`{"error":"Agent session not found","code":"not_found"}`,
		},
		{
			"empty code", agent, "POST", "/api/coding-agent/sources/with-context", save(` \n`, ""),
			400, `{"error":"code is required","code":"invalid"}`,
		},
		{
			"code over 512 KiB", agent, "POST", "/api/coding-agent/sources/with-context",
			save(strings.Repeat("x", notebook.MaxCode+1), ""), 413,
			`{"error":"code is larger than 524288 bytes","code":"too_large"}`,
		},
		{
			"5 MiB of code", agent, "POST", "/api/coding-agent/sources/with-context", save(strings.Repeat("x", 5<<20), ""), 413,
			`{"error":"The body is too large","code":"too_large","hint":"The limit is 4 MiB"}`,
		},
		{
			"NUL in code", agent, "POST", "/api/coding-agent/sources/with-context", save(`\u0000`, ""), 400,
			`{"error":"The body holds U+0000, which cannot be stored","code":"invalid"}`,
		},
		{
			"another user's notebook",
			who{s.bob, "ada"},
			"POST", "/api/coding-agent/sources/with-context", save("x", ""), 404,
			`{"error":"Notebook not found","code":"not_found"}`,
		},
		{
			"another user's source",
			who{user: s.bob},
			"GET", "/api/sources/" + source, "",
			404, `{"error":"Source not found","code":"not_found"}`,
		},
		{
			"no source at all",
			who{user: s.ada},
			"GET", "/api/sources/x", "",
			404, `{"error":"Source not found","code":"not_found"}`,
		},
		{
			"another user's conversation",
			who{user: s.bob},
			"POST", "/api/sources/" + source + "/conversation", `{"content":"?"}`, 404,
			`{"error":"Source not found","code":"not_found"}`,
		},
		{
			"an empty question",
			who{user: s.ada},
			"POST", "/api/sources/" + source + "/conversation", `{"content":""}`, 400,
			`{"error":"content is required","code":"invalid"}`,
		},
		{"an empty answer", agent, "POST", respond, `{}`, 400, `{"error":"response is required","code":"invalid"}`},
		{
			"an answer with empty code", agent, "POST", respond, `{"response":"r","codeUpdate":{}}`,
			400, `{"error":"codeUpdate.code is required","code":"invalid"}`,
		},
		{
			"an answer to no question", agent, "POST", "/api/coding-agent/followups/x/respond", `{"response":"r"}`,
			404, `{"error":"Message not found","code":"not_found"}`,
		},
		{
			"another agent's session",
			who{s.ada, "bob"},
			"GET", "/api/coding-agent/followups?agentSessionId=" + session, "", 404,
			`{"error":"Agent session not found","code":"not_found"}`,
		},
		{
			"an agent that never introduced itself",
			who{s.ada, "eve"},
			"GET", "/api/coding-agent/followups", "", 404,
			`{"error":"Agent session not found","code":"not_found","hint":"Start with POST /api/coding-agent/notebooks (create_agent_notebook)"}`,
		},
		{
			"a webhook where none are sent", agent, "POST", "/api/coding-agent/webhook/register",
			`{"url":"https://a.example/"}`, 400,
			`{"error":"This server sends no webhooks; poll for follow-ups","code":"invalid"}`,
		},
		{
			"a webhook without URL", agent, "POST", "/api/coding-agent/webhook/register", `{}`,
			400, `{"error":"url is required","code":"invalid"}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.t = t
			s.want(s.do(c.who, c.method, c.path, c.body), c.status, c.want)
		})
	}
}

func TestErrorsOfEndedSessionsDescribeTheRenewal(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	agent := who{s.ada, "ada"}
	book, session := s.create(agent)
	questionFor := s.ask(s.ada, s.save(agent, book))
	poll := func() (int, string) {
		rec := s.do(agent, "GET", "/api/coding-agent/followups", "")
		return rec.Code, strings.TrimSpace(rec.Body.String())
	}
	respond := "/api/coding-agent/followups/" + questionFor + "/respond"
	if rec := s.do(agent, "POST", respond, `{"response":"r"}`); rec.Code != 200 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	s.want(s.do(agent, "POST", respond, `{"response":"r"}`), 409,
		`{"error":"This message has been answered","code":"answered","hint":"get_followup_messages lists those that wait"}`)

	s.clock.Advance(notebook.Lifetime)
	if status, body := poll(); status != 410 || body != `{"error":"The agent session has expired","code":"expired",`+
		`"hint":"Renew it: the agent with POST /api/coding-agent/notebooks (create_agent_notebook), the user with POST /api/agent-sessions/`+session+`/renew"}` {
		t.Errorf("%d %s", status, body)
	}
	if rec := s.do(agent, "POST", "/api/coding-agent/notebooks",
		`{"agentName":"Ada","agentIdentifier":"ada"}`); rec.Code != 200 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := s.do(who{user: s.ada}, "POST", "/api/agent-sessions/"+session+"/disconnect", ""); rec.Code != 200 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	for _, again := range []func() (int, string){poll, func() (int, string) {
		rec := s.do(agent, "POST", "/api/coding-agent/notebooks", `{"agentName":"Ada","agentIdentifier":"ada"}`)
		return rec.Code, strings.TrimSpace(rec.Body.String())
	}} {
		if status, body := again(); status != 409 ||
			body != `{"error":"The user has disconnected this agent","code":"disconnected",`+
				`"hint":"Only the user can reconnect it: POST /api/agent-sessions/`+session+`/renew"}` {
			t.Errorf("%d %s", status, body)
		}
	}
}
