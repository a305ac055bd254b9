package api_test

import (
	"strconv"
	"strings"
	"testing"

	"bellhop/protocol"
)

func TestTheQueueOfATask(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	path := "/api/tasks/" + s.newTask("") + "/queue"
	want(t, s.as(s.ada, "GET", path, ""), 200, `{"messages":[],"rev":0}`)
	const one = `{"id":"m1","message":"one","attachments":[{"type":"image","mediaType":"image/png","bytes":9}],"state":"waiting","createdAt":"+0s"}`
	const body = `{"message":"one","messageId":"m1","attachments":[{"type":"image","mediaType":"image/png","data":"iVBORw0KGgoA"}]}`
	want(t, s.as(s.ada, "POST", path, body), 201, one)
	want(t, s.as(s.ada, "POST", path, body), 201, one) // a repeated request
	want(t, s.as(s.ada, "POST", path, `{"message":"two","messageId":"m/2"}`), 201,
		`{"id":"m/2","message":"two","state":"waiting","createdAt":"+0s"}`)
	want(t, s.as(s.ada, "PATCH", path+"/m%2F2", `{"message":"zwei","position":0}`), 200,
		`{"id":"m/2","message":"zwei","state":"waiting","createdAt":"+0s"}`)
	two := `{"id":"m/2","message":"zwei","state":"waiting","createdAt":"+0s"}`
	want(t, s.as(s.ada, "GET", path, ""), 200, `{"messages":[`+two+`,`+one+`],"rev":3}`)
	want(t, s.as(s.ada, "PATCH", path, `{"paused":true}`), 200,
		`{"messages":[`+two+`,`+one+`],"rev":4,"paused":"stopped"}`)
	want(t, s.as(s.ada, "PATCH", path, `{"paused":true}`), 200,
		`{"messages":[`+two+`,`+one+`],"rev":4,"paused":"stopped"}`)
	want(t, s.as(s.ada, "POST", path+"/m1/send", ""), 200, one)
	want(t, s.as(s.ada, "GET", path, ""), 200, `{"messages":[`+one+`,`+two+`],"rev":6}`)
	task := s.as(s.ada, "GET", strings.TrimSuffix(path, "/queue"), "").Body.String()
	if !strings.Contains(task, `"queue":{"messages":2,"rev":6}`) {
		t.Errorf("the task is %s", task)
	}
	want(t, s.as(s.ada, "DELETE", path+"/m1", ""), 200, `{"success":true}`)
	want(t, s.as(s.ada, "DELETE", path+"/m1", ""), 404, `{"error":"Queued message not found","code":"not_found"}`)
	want(t, s.as(s.ada, "GET", path, ""), 200, `{"messages":[`+two+`],"rev":7}`)
}

func TestBadInputOfQueues(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newTask("")
	path := "/api/tasks/" + id + "/queue"
	want(t, s.as(s.ada, "POST", path, `{"message":"one","messageId":"m1"}`), 201,
		`{"id":"m1","message":"one","state":"waiting","createdAt":"+0s"}`)
	const required = `{"error":"message is required","code":"invalid","hint":"Delete the queued message to take it back"}`
	invalid := func(text string) string { return `{"error":"` + text + `","code":"invalid"}` }
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		answer                   string
	}{
		{"no message", "POST", "", `{}`, 400, required},
		{"a blank message", "POST", "", `{"message":" \n"}`, 400, required},
		{"a number as message", "POST", "", `{"message":1}`, 400, invalid("message must be a string")},
		{
			"a long message", "POST", "", `{"message":"` + strings.Repeat("x", protocol.MaxMessage+1) + `"}`, 400,
			invalid("message is longer than 1 MiB"),
		},
		{
			"a long id", "POST", "", `{"message":"x","messageId":"` + strings.Repeat("x", 129) + `"}`, 400,
			invalid("messageId is longer than 128 characters"),
		},
		{
			"no base64", "POST", "", `{"message":"x","attachments":[{"type":"image","mediaType":"image/png","data":"?"}]}`, 400,
			invalid("attachments[0].data must be base64, and not empty"),
		},
		{
			"a reserved artifact", "POST", "", `{"message":"x","artifacts":[{"type":"DIFF"}]}`, 400,
			invalid("artifacts[0].type DIFF is reserved"),
		},
		{
			"another body", "POST", "", `{"message":"two","messageId":"m1"}`, 409,
			`{"error":"Another message has this messageId","code":"conflict"}`,
		},
		{"an array", "PATCH", "", `[]`, 400, invalid("The body must be a JSON object")},
		{
			"paused is missing", "PATCH", "", `{}`, 400,
			`{"error":"paused is required","code":"invalid","hint":"Send false to resume the queue"}`,
		},
		{"paused is a string", "PATCH", "", `{"paused":"yes"}`, 400, invalid("paused must be a boolean")},
		{
			"nothing to change", "PATCH", "/m1", `{}`, 400,
			`{"error":"Nothing to change","code":"invalid","hint":"Send message or position"}`,
		},
		{"an emptied message", "PATCH", "/m1", `{"message":""}`, 400, required},
		{
			"a negative position", "PATCH", "/m1", `{"position":-1}`, 400,
			`{"error":"position must not be negative","code":"invalid","hint":"0 is the next message"}`,
		},
		{"half a position", "PATCH", "/m1", `{"position":0.5}`, 400, invalid("position must be an integer")},
		{"no such message", "PATCH", "/m2", `{"position":0}`, 404, `{"error":"Queued message not found","code":"not_found"}`},
		{"no such message to send", "POST", "/m2/send", ``, 404, `{"error":"Queued message not found","code":"not_found"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			want(t, s.as(s.ada, c.method, path+c.path, c.body), c.status, c.answer)
		})
	}
	want(t, s.as(s.ada, "GET", path, ""), 200,
		`{"messages":[{"id":"m1","message":"one","state":"waiting","createdAt":"+0s"}],"rev":1}`)
}

func TestAnotherUsersQueueIsNotFound(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	path := "/api/tasks/" + s.newTask("") + "/queue"
	want(t, s.as(s.ada, "POST", path, `{"message":"one","messageId":"m1"}`), 201,
		`{"id":"m1","message":"one","state":"waiting","createdAt":"+0s"}`)
	for _, c := range [][3]string{
		{"GET", "", ""},
		{"POST", "", `{"message":"x"}`},
		{"PATCH", "", `{"paused":true}`},
		{"PATCH", "/m1", `{"message":"x"}`},
		{"DELETE", "/m1", ""},
		{"POST", "/m1/send", ""},
	} {
		want(t, s.as(s.bob, c[0], path+c[1], c[2]), 404, `{"error":"Task not found","code":"not_found"}`)
	}
	want(t, s.as(s.ada, "GET", path, ""), 200,
		`{"messages":[{"id":"m1","message":"one","state":"waiting","createdAt":"+0s"}],"rev":1}`)
}

func TestAQueueIsBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	path := "/api/tasks/" + s.newTask("") + "/queue"
	for i := range protocol.MaxQueued {
		if rec := s.as(s.ada, "POST", path, `{"message":"x","messageId":"`+strconv.Itoa(i)+`"}`); rec.Code != 201 {
			t.Fatal(rec.Body)
		}
	}
	want(t, s.as(s.ada, "POST", path, `{"message":"x"}`), 409,
		`{"error":"50 messages are queued already","code":"conflict","hint":"Wait until one was sent, or remove one"}`)
	path = "/api/tasks/" + s.newTask("") + "/queue"
	document := `{"message":"x","attachments":[{"type":"document","mediaType":"text/plain","data":"` +
		strings.Repeat("QUFB", 2<<20) + `"}]}`
	for range 3 { // 8 MiB each
		s.as(s.ada, "POST", path, document)
	}
	want(t, s.as(s.ada, "POST", path, document), 409,
		`{"error":"The queued messages have more than 24 MiB in all","code":"conflict","hint":"Wait until one was sent, or remove one"}`)
	if rec := s.as(s.ada, "POST", path, `{"message":"`+strings.Repeat("x", protocol.MaxPrompt)+`"}`); rec.Code != 413 {
		t.Errorf("a body over the limit: %d", rec.Code)
	}
}
