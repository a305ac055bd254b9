package api_test

import (
	"slices"
	"strings"
	"testing"

	"bellhop/notebook"
)

const at = `"2026-05-06T07:08:09Z"`

// Complete bodies of every response of protocol section 3.
func TestTheShapesOfEveryResponse(t *testing.T) {
	s := newSite(t)
	agent, user := who{s.ada, "claude-code"}, who{user: s.ada}
	const book = `{"id":"<0>","title":"T","description":"D","agentName":"Claude <Code>","agentIcon":"🤖","agentSessionId":"<1>",` +
		`"agentStatus":"active","isAgentNotebook":true,"createdAt":` + at + `}`
	const session = `{"id":"<1>","agentName":"Claude <Code>","agentIdentifier":"claude-code","status":"active","lastActivity":` + at +
		`,"metadata":{"v":1},"createdAt":` + at + `}`
	create := `{"agentName":"Claude <Code>","agentIdentifier":"claude-code","agentIcon":"🤖","title":"T","description":"D","metadata":{"v":1},"unknown":[]}`
	first := s.do(agent, "POST", "/api/coding-agent/notebooks", create)
	s.want(first, 201, `{"notebook":`+book+`,"agentSession":`+session+`}`)
	s.want(s.do(agent, "POST", "/api/coding-agent/notebooks", create), 200,
		`{"notebook":`+book+`,"agentSession":`+session+`}`)
	s.want(s.do(user, "GET", "/api/notebooks", ""), 200, `{"notebooks":[`+book+`]}`)
	s.want(s.do(user, "GET", "/api/agent-sessions", ""), 200, `{"agentSessions":[`+session+`]}`)

	const verification = `{"language":"json","verdict":"verified","claim":"parses",` +
		`"summary":"Checked: this json parses (github.com/go-json-experiment/json unknown). It was read, not run.","tool":"github.com/go-json-experiment/json","toolVersion":"?","diagnostics":[],` +
		`"verifiedAt":` + at + `,"digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}`
	metadata := func(verified, v, verifiedAt string) string {
		return `{"language":"json","isVerified":` + verified + `,"verification":` + v + `,"verifiedAt":` + verifiedAt +
			`,"agentSessionId":"<1>",` +
			`"agentName":"Claude <Code>","agentStatus":"active","originalContext":"why","custom":{"p":"a.json"}}`
	}
	source := `{"id":"<2>","notebookId":"<0>","title":"S","type":"code","content":"{}","version":1,"metadata":` +
		metadata("true", verification, at) + `}`
	saved := s.do(agent, "POST", "/api/coding-agent/sources/with-context",
		`{"notebookId":"`+pick(t, first,
			"notebook.id")+`","title":"S","code":"{}","context":"why","metadata":{"p":"a.json"}}`)
	s.want(saved, 201, `{"source":`+source+`}`)
	id := pick(t, saved, "source.id")
	s.want(s.do(agent, "GET", "/api/coding-agent/sources", ""), 200, `{"sources":[`+source+`]}`)
	s.want(s.do(user, "GET", "/api/sources/"+id, ""), 200, `{"source":`+source+`}`)
	ofAgent := "/api/coding-agent/sources/" + id
	s.want(s.do(agent, "GET", ofAgent, ""), 200, `{"source":`+source+`}`)
	s.want(s.do(agent, "PUT", ofAgent, `{"code":"{}"}`), 200, `{"source":`+source+`}`) // the code that it has
	s.want(s.do(agent, "DELETE", "/api/coding-agent/webhook", ""), 200, `{"agentSession":`+session+`}`)
	s.want(s.do(user, "GET", "/api/notebooks/"+pick(t, first, "notebook.id"), ""), 200,
		`{"notebook":`+book+`,"sources":[`+source+`]}`)
	s.want(s.do(agent, "POST", "/api/coding-agent/verify", `{"code":"{}"}`), 200, verification)

	empty := s.do(user, "GET", "/api/sources/"+id+"/conversation", "")
	s.want(empty, 200, `{"sourceId":"<2>","agentSessionId":"<1>","lastMessageAt":null,"messages":[]}`)
	asked := s.do(user, "POST", "/api/sources/"+id+"/conversation", `{"content":"Why?"}`)
	s.want(asked, 201,
		`{"message":{"id":"<3>","role":"user","content":"Why?","timestamp":`+at+
			`,"metadata":{"delivered":false,"read":false}}}`)
	s.want(s.do(agent, "GET", "/api/coding-agent/followups?agentSessionId="+pick(t, first, "agentSession.id"), ""), 200,
		`{"messages":[{"id":"<3>","sourceId":"<2>","sourceTitle":"S","sourceVersion":1,"sourceLanguage":"json","sourceCode":"{}",`+
			`"originalContext":"why","content":"Why?","timestamp":`+at+`,"conversationHistory":[]}]}`)
	answered := s.do(agent, "POST", "/api/coding-agent/followups/"+pick(t, asked, "message.id")+"/respond",
		`{"response":"So.","codeUpdate":{"code":"[","description":"d"}}`)
	const failed = `{"language":"json","verdict":"failed",` +
		`"summary":"Failed: github.com/go-json-experiment/json unknown found 1 error in this json, first at line 1, column 2. It was read, not run.","tool":"github.com/go-json-experiment/json","toolVersion":"?",` +
		`"diagnostics":[{"line":1,"column":2,"message":"unexpected EOF","severity":"error"}],` +
		`"verifiedAt":null,"digest":"sha256:245843abef9e72e7efac30138a994bf6301e7e1d7d7042a33d42e863d2638811"}`
	const diff = `"--- version 1\n+++ version 2\n@@ -1 +1 @@\n-{}\n\\ No newline at end of file\n+[\n\\ No newline at end of file\n"`
	const reply = `{"id":"<4>","role":"agent","content":"So.","timestamp":` + at +
		`,"metadata":{"delivered":true,"read":false,"inReplyTo":"<3>",` +
		`"codeModification":{"version":2,"description":"d","diff":` + diff + `}}}`
	s.want(answered, 200,
		`{"message":`+reply+
			`,"source":{"id":"<2>","notebookId":"<0>","title":"S","type":"code","content":"[","version":2,"metadata":`+
			metadata("false", failed, "null")+`}}`)
	s.want(s.do(user, "GET", "/api/sources/"+id+"/conversation", ""), 200,
		`{"sourceId":"<2>","agentSessionId":"<1>","lastMessageAt":`+at+`,"messages":[`+
			`{"id":"<3>","role":"user","content":"Why?","timestamp":`+at+`,"metadata":{"delivered":true,"read":true}},`+reply+
			`]}`)
	s.want(s.do(user, "GET", "/api/notebooks", ""), 200,
		`{"notebooks":[`+strings.Replace(book, `"createdAt"`, `"unread":1,"createdAt"`, 1)+`]}`)
	s.want(s.do(user, "POST", "/api/sources/"+id+"/conversation/read",
		`{"messageId":"`+pick(t, answered, "message.id")+`"}`), 200, `{"success":true}`)
	s.want(s.do(user, "GET", "/api/notebooks", ""), 200, `{"notebooks":[`+book+`]}`)
	s.want(s.do(user, "GET", "/api/sources/"+id+"/versions", ""), 200, `{"versions":[`+
		`{"version":1,"content":"{}","diff":"","description":"","author":"claude-code","verification":`+verification+
		`,"createdAt":`+at+`},`+
		`{"version":2,"content":"[","diff":`+diff+
		`,"description":"d","author":"claude-code","messageId":"<4>","verification":`+failed+`,"createdAt":`+at+`}]}`)

	s.want(s.do(user, "GET", "/api/sources/"+id+"/versions/1", ""), 200,
		`{"version":{"version":1,"content":"{}","diff":"","description":"","author":"claude-code","verification":`+
			verification+`,"createdAt":`+at+`}}`)
	s.want(s.do(user, "GET", "/api/sources/"+id+"/versions/3", ""), 404,
		`{"error":"Version not found","code":"not_found"}`)

	gone := strings.Replace(session, `"active"`, `"disconnected"`, 1)
	s.want(s.do(user, "POST", "/api/agent-sessions/"+pick(t, first, "agentSession.id")+"/disconnect", ""), 200,
		`{"agentSession":`+gone+`}`)
	s.want(s.do(user, "POST", "/api/agent-sessions/"+pick(t, first, "agentSession.id")+"/renew", ""), 200,
		`{"agentSession":`+session+`}`)
	s.want(s.do(user, "DELETE", "/api/sources/"+id, ""), 200, `{"success":true}`)
	s.want(s.do(user, "DELETE", "/api/notebooks/"+pick(t, first, "notebook.id"), ""), 200, `{"success":true}`)
	s.want(s.do(user, "GET", "/api/notebooks", ""), 200, `{"notebooks":[]}`)
}

func TestBadInput(t *testing.T) {
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

func TestAnUnknownLanguageIsSavedUnverified(t *testing.T) {
	s := newSite(t)
	agent := who{s.ada, "ada"}
	book, _ := s.create(agent)
	rec := s.do(agent, "POST", "/api/coding-agent/sources/with-context",
		`{"notebookId":"`+book+`","title":"t","code":"+++","language":"Brainfuck","context":"c"}`)
	if rec.Code != 201 || pick(t, rec, "source.metadata.verification.verdict") != "unsupported" ||
		pick(t, rec, "source.metadata.language") != "brainfuck" ||
		!strings.Contains(rec.Body.String(), `"isVerified":false`) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestErrorsOfEndedSessionsDescribeTheRenewal(t *testing.T) {
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

func TestEveryRouteOfTheProtocolExists(t *testing.T) {
	s := newSite(t)
	var got []string
	for _, r := range s.echo.Routes() {
		got = append(got, r.Method+" "+r.Path)
	}
	slices.Sort(got)
	want := []string{
		"DELETE /api/coding-agent/sources/:id", "DELETE /api/coding-agent/webhook", "DELETE /api/notebooks/:id",
		"DELETE /api/sources/:id", "GET /api/agent-sessions", "GET /api/agent-sessions/:id/icon",
		"GET /api/coding-agent/followups", "GET /api/coding-agent/sources", "GET /api/coding-agent/sources/:id",
		"GET /api/notebooks", "GET /api/notebooks/:id", "GET /api/sources/:id", "GET /api/sources/:id/conversation",
		"GET /api/sources/:id/versions", "GET /api/sources/:id/versions/:version",
		"POST /api/agent-sessions/:id/disconnect", "POST /api/agent-sessions/:id/renew",
		"POST /api/coding-agent/followups/:id/respond", "POST /api/coding-agent/notebooks",
		"POST /api/coding-agent/sources/with-context", "POST /api/coding-agent/verify",
		"POST /api/coding-agent/webhook/register", "POST /api/sources/:id/conversation",
		"POST /api/sources/:id/conversation/read", "PUT /api/coding-agent/sources/:id",
	}
	if !slices.Equal(got, want) {
		t.Errorf("routes\n%s", strings.Join(got, "\n"))
	}
}
