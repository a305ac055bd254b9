package api_test

import (
	"slices"
	"strings"
	"testing"
)

const at = `"2026-05-06T07:08:09Z"`

// Complete bodies of every response of protocol section 3.
func TestTheShapesOfEveryResponse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	agent, user := who{s.ada, "claude-code"}, who{user: s.ada}
	const book = `{"id":"<0>","userId":"<ada>","title":"T","description":"D","agentName":"Claude <Code>","agentIcon":"🤖","agentSessionId":"<1>",` +
		`"agentStatus":"active","isAgentNotebook":true,"createdAt":` + at + `}`
	const session = `{"id":"<1>","userId":"<ada>","notebookId":"<0>","agentName":"Claude <Code>","agentIdentifier":"claude-code","status":"active","lastActivity":` + at +
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
	source := `{"id":"<2>","userId":"<ada>","notebookId":"<0>","title":"S","type":"code","content":"{}","version":1,"metadata":` +
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
	s.want(empty, 200, `{"sourceId":"<2>","notebookId":"<0>","userId":"<ada>","agentSessionId":"<1>","lastMessageAt":null,"messages":[]}`)
	asked := s.do(user, "POST", "/api/sources/"+id+"/conversation", `{"content":"Why?"}`)
	s.want(asked, 201,
		`{"message":{"id":"<3>","sourceId":"<2>","role":"user","content":"Why?","timestamp":`+at+
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
	const reply = `{"id":"<4>","sourceId":"<2>","role":"agent","content":"So.","timestamp":` + at +
		`,"metadata":{"delivered":true,"read":false,"inReplyTo":"<3>",` +
		`"codeModification":{"version":2,"description":"d","diff":` + diff + `}}}`
	s.want(answered, 200,
		`{"message":`+reply+
			`,"source":{"id":"<2>","userId":"<ada>","notebookId":"<0>","title":"S","type":"code","content":"[","version":2,"metadata":`+
			metadata("false", failed, "null")+`}}`)
	s.want(s.do(user, "GET", "/api/sources/"+id+"/conversation", ""), 200,
		`{"sourceId":"<2>","notebookId":"<0>","userId":"<ada>","agentSessionId":"<1>","lastMessageAt":`+at+`,"messages":[`+
			`{"id":"<3>","sourceId":"<2>","role":"user","content":"Why?","timestamp":`+at+`,"metadata":{"delivered":true,"read":true}},`+reply+
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
	without := strings.Replace(session, `"notebookId":"<0>",`, "", 1)
	s.want(s.do(user, "GET", "/api/agent-sessions", ""), 200, `{"agentSessions":[`+without+`]}`)
	s.want(s.do(user, "POST", "/api/agent-sessions/"+pick(t, first, "agentSession.id")+"/renew", ""), 200,
		`{"agentSession":`+without+`}`)
}

func TestAnUnknownLanguageIsSavedUnverified(t *testing.T) {
	t.Parallel()
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

func TestEveryRouteOfTheProtocolExists(t *testing.T) {
	t.Parallel()
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
