package api_test

import (
	"strings"
	"testing"

	"bellhop/internal/diskspace"
)

const taskBody = `{"id":"<id1>","title":"A task","mode":"agent","agent":"","project":"","hostId":"","agentUrl":"http://agents.example",` +
	`"agentStatus":"none","reason":"","openTurn":null,"lastTurn":null,"openInteractions":0,"readRev":0,"rev":0,"archived":false,` +
	`"createdAt":"+0s","lastActivityAt":"+0s"}`

func TestTasksFromCreationToDeletion(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	rec := s.as(s.ada, "POST", "/api/tasks",
		`{"title":"A task","agentUrl":"`+agentURL+`","agentPassword":"`+agentPassword+`"}`)
	want(t, rec, 201, taskBody)
	path := "/api/tasks/" + field(t, rec, "id")
	want(t, s.as(s.ada, "GET", path, ""), 200, taskBody)
	want(t, s.as(s.ada, "GET", "/api/tasks", ""), 200, `{"tasks":[`+taskBody+`],"nextCursor":""}`)
	want(t, s.as(s.bob, "GET", "/api/tasks", ""), 200, `{"tasks":[],"nextCursor":""}`)
	want(t, s.as(s.ada, "GET", "/api/tasks?q=nothing", ""), 200, `{"tasks":[],"nextCursor":""}`)
	changed := strings.NewReplacer("A task", "Renamed", `"archived":false`, `"archived":true`, `"rev":0`,
		`"rev":1`).Replace(taskBody)
	_, rec = s.unchecked(s.ada, "PATCH", path, `{"title":"Renamed","archived":true,"id":"other"}`) // unknown: ignored
	want(t, rec, 200, changed)
	want(t, s.as(s.ada, "GET", "/api/tasks?archived=true", ""), 200, `{"tasks":[`+changed+`],"nextCursor":""}`)
	want(t, s.as(s.ada, "GET", "/api/tasks?archived=false", ""), 200, `{"tasks":[],"nextCursor":""}`)
	want(t, s.as(s.ada, "GET", path+"/messages", ""), 200, `{"messages":[],"nextAfter":0,"rev":1}`)
	want(t, s.as(s.ada, "DELETE", path, ""), 200, `{"success":true}`)
	want(t, s.as(s.ada, "GET", path, ""), 404, `{"error":"Task not found","code":"not_found"}`)
}

func TestATaskShowsNoSecret(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.newTask("")
	if body := s.as(s.ada, "GET", "/api/tasks", "").Body.String(); strings.Contains(body, "canary") {
		t.Error(body)
	}
}

func TestBadInputOfTasksIs400(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newTask("")
	for _, c := range []struct{ name, method, path, body, message string }{
		{"limit is no number", "GET", "/api/tasks?limit=many", "", "limit must be an integer"},
		{"limit twice", "GET", "/api/tasks?limit=1&limit=2", "", "limit is given more than once"},
		{"archived is no boolean", "GET", "/api/tasks?archived=maybe", "", "archived must be true or false"},
		{"after is no number", "GET", "/api/tasks/" + id + "/messages?after=x", "", "after must be an integer"},
		{"title is a number", "POST", "/api/tasks", `{"title":1}`, "title must be a string"},
		{
			"duplicate keys", "POST", "/api/tasks",
			`{"title":"a","title":"b"}`, "Invalid JSON: duplicate member name (at byte 13)",
		},
		{"a patch that is no object", "PATCH", "/api/tasks/" + id, `[]`, "The body must be a JSON object"},
		{
			"a state no question has", "GET", "/api/interactions?state=weird",
			"", "state must be one of open, resolved, expired",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			want(t, s.as(s.ada, c.method, c.path, c.body), 400, `{"error":"`+c.message+`","code":"invalid"}`)
		})
	}
	private := `{"title":"a","agentUrl":"http://10.0.0.1/"}`
	want(t, s.as(s.ada, "POST", "/api/tasks", private), 400,
		`{"error":"agentUrl is not allowed","code":"invalid","hint":"private addresses need an administrator, or a registered host"}`)
	if rec := s.as(s.admin, "POST", "/api/tasks", private); rec.Code != 201 {
		t.Errorf("an administrator's private agent URL: %d %s", rec.Code, rec.Body)
	}
	rec := s.as(s.ada, "POST", "/api/tasks", `{"title":"a"}`, "Content-Type", "text/plain")
	want(t, rec, 415,
		`{"error":"The body must be JSON","code":"unsupported_media","hint":"Send Content-Type: application/json"}`)
	want(t, s.as(s.ada, "POST", "/api/tasks", `{"title":"`+strings.Repeat("a", 1<<20)+`"}`), 413,
		`{"error":"The body is too large","code":"too_large","hint":"The limit is 1 MiB"}`)
}

func TestAConversationIsReadInPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	task, hook := s.checkedIn()
	want(t, s.as(nil, "POST", hook, event(task, at("1", "1"))), 200,
		`{"success":true,"accepted":1,"duplicates":0,"cursor":{"epoch":1,"seq":1}}`)
	const mine = `{"id":"<id1>","seq":1,"rev":2,"taskId":"<id2>","turnId":"<id3>","role":"USER","status":"SENT","message":"hi","artifacts":[],"eventId":"","createdAt":"+0s"}`
	const theirs = `{"id":"<id4>","seq":2,"rev":3,"taskId":"<id2>","turnId":"turn","role":"ASSISTANT","status":"SENT","message":"hello","artifacts":[],"eventId":"e:1:1","createdAt":"+0s"}`
	page := func(query string) string {
		t.Helper()
		rec := s.as(s.ada, "GET", "/api/tasks/"+task+"/messages"+query, "")
		if rec.Code != 200 {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
		return rec.Body.String()
	}
	if got := plain(page("")); got != `{"messages":[`+mine+`,`+theirs+`],"nextAfter":2,"rev":4}` {
		t.Error(got)
	}
	for query, n := range map[string]int{
		"?limit=1": 1, "?after=1": 1, "?before=2": 1, "?after=2": 0, "?since=0": 2, "?limit=9999": 2,
	} {
		if body := page(query); strings.Count(body, `"taskId"`) != n {
			t.Errorf("%s: %s", query, body)
		}
	}
}

func TestLowDiskSpaceIsReported(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.Disk = diskspace.Monitor{Path: t.TempDir(), WarnBelow: 1 << 62}
	want(t, s.as(nil, "GET", "/readyz", ""), 200, `{"status":"ready","storage":"low"}`)
	rec := s.as(s.admin, "GET", "/api/hosts", "")
	if body := rec.Body.String(); rec.Code != 200 || !strings.Contains(body, `"notices":["Only `) {
		t.Errorf("%d %s", rec.Code, body)
	}
}

func TestOnlyAdministratorsManageHosts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	rec := s.as(s.admin, "POST", "/api/hosts",
		`{"name":"one","url":"http://one.example/","password":"canary-host-password"}`)
	const body = `{"id":"<id1>","name":"one","url":"http://one.example","health":"unknown","reach":"direct","openTurns":0,"createdAt":"+0s"}`
	want(t, rec, 201, body)
	path := "/api/hosts/" + field(t, rec, "id")
	want(t, s.as(s.admin, "GET", "/api/hosts", ""), 200, `{"hosts":[`+body+`]}`)
	want(t, s.as(s.admin, "PATCH", path, `{"name":"two"}`), 200, strings.Replace(body, `"name":"one"`, `"name":"two"`, 1))
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/api/hosts", ""},
		{"POST", "/api/hosts", `{"name":"x","url":"http://x.example"}`},
		{"PATCH", path, `{}`},
		{"DELETE", path, ""},
	} {
		rec := s.as(s.ada, c.method, c.path, c.body)
		if rec.Code != 403 || !strings.Contains(rec.Body.String(), `"code":"forbidden"`) {
			t.Errorf("%s %s: %d %s", c.method, c.path, rec.Code, rec.Body)
		}
	}
	want(t, s.as(s.admin, "DELETE", path, ""), 200, `{"success":true}`)
	want(t, s.as(s.admin, "GET", "/api/hosts", ""), 200, `{"hosts":[]}`)
	want(t, s.as(s.admin, "DELETE", path, ""), 404, `{"error":"Host not found","code":"not_found"}`)
}

func TestQuestionsReachTheInboxAndAnswersTheHost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	task, hook := s.checkedIn()
	want(t, s.as(s.ada, "GET", "/api/interactions?state=open", ""), 200, `{"interactions":[]}`)
	question := `{"sessionId":"` + task +
		`","type":"interaction","interactionId":"q-1","state":"open","kind":"confirm","prompt":"May I?","toolName":"write_file","timestamp":1}`
	want(t, s.as(nil, "POST", hook, question), 200, `{"success":true,"accepted":1,"duplicates":0,"cursor":null}`)
	const open = `{"id":"q-1","taskId":"<id1>","taskTitle":"A task","turnId":"<id2>","state":"open","kind":"confirm","prompt":"May I?","toolName":"write_file","createdAt":"+0s"}`
	want(t, s.as(s.ada, "GET", "/api/interactions?state=open", ""), 200, `{"interactions":[`+open+`]}`)
	want(t, s.as(s.bob, "GET", "/api/interactions", ""), 200, `{"interactions":[]}`)
	want(t, s.as(s.bob, "POST", "/api/interactions/q-1", `{"approved":true}`), 404,
		`{"error":"Interaction not found","code":"not_found"}`)
	want(t, s.as(s.ada, "POST", "/api/interactions/q-1", `{"approved":"yes"}`), 400,
		`{"error":"approved must be a boolean","code":"invalid"}`)
	want(t, s.as(s.ada, "POST", "/api/interactions/q-1", `{"approved":true}`), 200,
		strings.NewReplacer(`"open"`, `"resolved"`, `"createdAt"`,
			`"answer":{"approved":true,"by":"<id3>"},"createdAt"`).Replace(open))
}
