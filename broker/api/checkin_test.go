package api_test

import (
	"strings"
	"testing"

	"bellhop/protocol"
)

// checkInCase is one check-in on a fresh broker.
type checkInCase struct {
	name   string
	task   string // the task's members besides title; "" means URL and password
	body   string // TASK stands for the task's id
	fail   error  // the host's error
	status int
	answer string
}

func (c *checkInCase) run(t *testing.T) {
	s := newSite(t)
	task := c.task
	if task == "" {
		task = `,"agentUrl":"` + agentURL + `","agentPassword":"` + agentPassword + `"`
	}
	rec := s.as(s.ada, "POST", "/api/tasks", `{"title":"A task"`+task+`}`)
	if rec.Code != 201 {
		t.Fatalf("create a task: %d %s", rec.Code, rec.Body)
	}
	s.host.fail(c.fail)
	body := strings.ReplaceAll(c.body, "TASK", field(t, rec, "id"))
	want(t, s.as(s.ada, "POST", "/api/agent", body), c.status, c.answer)
}

const hi = `{"taskId":"TASK","message":"hi"}`

// The table of protocol section 1.1, through the HTTP API.
func TestCheckInOutcomes(t *testing.T) {
	t.Parallel()
	const stored = `"messageId":"<id1>","turnId":"<id2>"`
	for _, c := range []checkInCase{
		{
			"a basic frontend", "", hi, nil, 200,
			`{"success":true,"sessionId":"<id1>","streamToken":"canary-stream-token","streamUrl":"http://agents.example/stream/<id1>",` +
				`"messageId":"<id2>","turnId":"<id3>","expiresAt":"+10m0s","capabilities":["events"]}`,
		},
		{
			"a messageId of the frontend's", "",
			`{"taskId":"TASK","message":"hi","messageId":"m-1","artifacts":[{"type":"FILE","content":{"a":1}}]}`, nil, 200,
			`{"success":true,"sessionId":"<id1>","streamToken":"canary-stream-token","streamUrl":"http://agents.example/stream/<id1>",` +
				`"messageId":"m-1","turnId":"<id2>","expiresAt":"+10m0s","capabilities":["events"]}`,
		},
		{"no taskId", "", `{"message":"hi"}`, nil, 400, `{"error":"taskId is required","code":"invalid"}`},
		{
			"no such task", "", `{"taskId":"nonsense","message":"hi"}`, nil,
			404, `{"error":"Task not found","code":"not_found"}`,
		},
		{"not in agent mode", `,"mode":"chat"`, hi, nil, 400, `{"error":"Task is not in agent mode","code":"invalid"}`},
		{
			"no password", `,"agentUrl":"http://agents.example"`, hi, nil,
			400, `{"error":"Agent password not configured","code":"invalid"}`,
		},
		{"the host refused", "", hi, &protocol.Error{
			Code: protocol.CodeBadGateway, Message: "Failed to create agent session",
			Hint: "Name another agent", Relayed: "invalid",
		}, 502, `{"error":"Failed to create agent session","code":"invalid","hint":"Name another agent",` + stored + `}`},
		{
			"the host gave no token", "", hi, protocol.Errorf(protocol.CodeBadGateway, "No stream token returned from agent"),
			502, `{"error":"No stream token returned from agent","code":"bad_gateway",` + stored + `}`,
		},
		{
			"the host is away", "", hi, protocol.Errorf(protocol.CodeBadGateway, "Failed to connect to agent server"), 502,
			`{"error":"Failed to connect to agent server","code":"bad_gateway",` + stored + `}`,
		},
	} {
		t.Run(c.name, c.run)
	}
}

func TestCheckInRefusesBadInput(t *testing.T) {
	t.Parallel()
	repeat := strings.Repeat
	bad := func(message string) string { return `{"error":"` + message + `","code":"invalid"}` }
	with := func(artifacts string) string {
		return `{"taskId":"TASK","message":"hi","artifacts":[` + artifacts + `]}`
	}
	for _, c := range []checkInCase{
		{"not an object", "", `[]`, nil, 400, bad("The body must be a JSON object")},
		{"taskId of another type", "", `{"taskId":7,"message":"hi"}`, nil, 400, bad("taskId must be a string")},
		{
			"no message", "", `{"taskId":"TASK"}`, nil,
			400, `{"error":"message is required","code":"invalid","hint":"It may be empty only beside an artifact"}`,
		},
		{
			"a message over 1 MiB", "", `{"taskId":"TASK","message":"` + repeat("a", 1<<20+1) + `"}`, nil,
			400, bad("message is longer than 1 MiB"),
		},
		{
			"over 20 artifacts", "", with(repeat(`{"type":"A","content":1},`, 20) + `{"type":"A","content":1}`), nil,
			400, bad("There are more than 20 artifacts"),
		},
		{
			"an artifact over 256 KiB", "", with(`{"type":"A","content":"` + repeat("a", 256<<10) + `"}`), nil,
			400, bad("artifacts[0].content is larger than 256 KiB"),
		},
		{
			"an artifact type in lower case", "", with(`{"type":"file","content":1}`), nil,
			400, bad("artifacts[0].type must match [A-Z][A-Z0-9_]{0,31}"),
		},
		{
			"a reserved artifact type", "", with(`{"type":"TOOL_USE","content":1}`), nil,
			400, bad("artifacts[0].type TOOL_USE is reserved"),
		},
		{
			"a messageId over 128 characters", "", `{"taskId":"TASK","message":"hi","messageId":"` + repeat("m", 129) + `"}`,
			nil, 400, bad("messageId is longer than 128 characters"),
		},
		{
			"over 8 MiB", "", `{"taskId":"TASK","message":"` + repeat("a", 8<<20) + `"}`, nil, 413,
			`{"error":"The body is too large","code":"too_large","hint":"The limit is 8 MiB"}`,
		},
	} {
		t.Run(c.name, c.run)
	}
}

func TestACustomAgentURLNeedsNoPassword(t *testing.T) {
	t.Parallel()
	s := newSite(t, customAgentURL("http://127.0.0.1:3000/"))
	rec := s.as(s.ada, "POST", "/api/tasks", `{"title":"A task","agentUrl":"http://agents.example"}`)
	rec = s.as(s.ada, "POST", "/api/agent", `{"taskId":"`+field(t, rec, "id")+`","message":"hi"}`)
	want(t, rec, 200,
		`{"success":true,"sessionId":"<id1>","streamToken":"canary-stream-token","streamUrl":"http://127.0.0.1:3000/stream/<id1>",`+
			`"messageId":"<id2>","turnId":"<id3>","expiresAt":"+10m0s","capabilities":["events"]}`)
}

func TestAMessageIsCheckedInOnlyOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newTask("")
	send := func(message string) string {
		return `{"taskId":"` + id + `","message":"` + message + `","messageId":"m-1"}`
	}
	first := s.as(s.ada, "POST", "/api/agent", send("hi"))
	again := s.as(s.ada, "POST", "/api/agent", send("hi"))
	if again.Code != 200 || field(t, first, "turnId") != field(t, again, "turnId") {
		t.Errorf("got %s, then %s", first.Body, again.Body)
	}
	want(t, s.as(s.ada, "POST", "/api/agent", send("ho")), 409,
		`{"error":"Another message has this messageId","code":"conflict"}`)
}

func TestAnotherUsersTaskDoesNotExist(t *testing.T) {
	t.Parallel()
	const absent = `{"error":"Task not found","code":"not_found"}`
	s := newSite(t)
	id := s.newTask("")
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/api/tasks/" + id, ""},
		{"PATCH", "/api/tasks/" + id, `{"title":"mine"}`},
		{"DELETE", "/api/tasks/" + id, ""},
		{"GET", "/api/tasks/" + id + "/messages", ""},
		{"GET", "/api/tasks/" + id + "/events", ""},
		{"POST", "/api/agent", `{"taskId":"` + id + `","message":"hi"}`},
		{"POST", "/api/agent/attach", `{"taskId":"` + id + `"}`},
		{"POST", "/api/agent/interrupt", `{"taskId":"` + id + `"}`},
		{"POST", "/api/agent/restart", `{"taskId":"` + id + `"}`},
		{"POST", "/api/agent/diff", `{"taskId":"` + id + `"}`},
		{"POST", "/api/agent/finish", `{"taskId":"` + id + `","turnId":"x"}`},
	} {
		t.Run(c.method+" "+strings.Replace(c.path, id, "ID", 1), func(t *testing.T) {
			want(t, s.as(s.bob, c.method, c.path, c.body), 404, absent)
			want(t, s.as(s.admin, c.method, c.path, c.body), 404, absent)
		})
	}
}

func TestAttachAndInterrupt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	body := `{"taskId":"` + s.newTask("") + `"}`
	want(t, s.as(s.ada, "POST", "/api/agent/attach", body), 200,
		`{"success":true,"sessionId":"<id1>","streamToken":"canary-stream-token","streamUrl":"http://agents.example/stream/<id1>",`+
			`"expiresAt":"+10m0s","agentStatus":"idle","streamCursor":null,"capabilities":["events"]}`)
	want(t, s.as(s.ada, "POST", "/api/agent/interrupt", body), 200, `{"success":true,"closeStream":true}`)
	want(t, s.as(s.ada, "POST", "/api/agent/restart", body), 200,
		`{"success":true,"sessionId":"<id1>","endedTurn":"turn-1"}`)
	want(t, s.as(s.ada, "POST", "/api/agent/diff", body), 200,
		`{"success":true,"message":{"id":"<id1>","seq":1,"rev":1,"taskId":"<id2>","turnId":"","role":"ASSISTANT","status":"SENT","message":"",`+
			`"artifacts":[{"id":"<id3>","type":"DIFF","content":{"files":[{"path":"a.txt","status":"added","additions":1,"deletions":0}],"patch":"+a\n"}}],"eventId":"","createdAt":"+0s"}}`)
	for _, path := range []string{"/api/agent/attach", "/api/agent/interrupt", "/api/agent/restart", "/api/agent/diff"} {
		want(t, s.as(s.ada, "POST", path, `{}`), 400, `{"error":"taskId is required","code":"invalid"}`)
	}
	s.host.fail(protocol.Errorf(protocol.CodeBadGateway, "Failed to connect to agent server"))
	want(t, s.as(s.ada, "POST", "/api/agent/interrupt", body), 502,
		`{"error":"Failed to connect to agent server","code":"bad_gateway"}`)
}
