package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"bellhop/protocol"
)

func TestOpenReturnsAToken(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	status, header, body := h.call(request{
		"POST", "/session",
		`{"sessionId":"s1","webhookUrl":"http://127.0.0.1:1/hook?token=x","brokerId":"b1","cursor":{"epoch":0,"seq":0},"turn":{"id":"t1"}}`,
		[]string{bearerPassword},
	})
	if status != http.StatusOK || header.Get("Cache-Control") != "no-store" {
		t.Errorf("got %d %v", status, header)
	}
	expectEqual(t, "body", normalized(body),
		`{"sessionId":"s1","token":"<token>","expiresAt":"2026-03-01T12:10:00Z","cursor":{"epoch":1,"seq":0},"streamCursor":null,"status":"none","capabilities":["events","resume","interactions","session-keys","credentials","named-answers","diff","branches","ship","webhook-signatures"]}`)
}

func TestOpenRefusesInvalidRequests(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	const webhook = `"webhookUrl":"https://broker.example.com/api/agent/webhook?token=canary"`
	for name, c := range map[string]struct {
		body    string
		status  int
		message string
	}{
		"empty":                     {` `, 400, ""},
		"no object":                 {`[]`, 400, "The body must be a JSON object"},
		"no session":                {`{` + webhook + `}`, 400, "sessionId must be 1 to 128 characters"},
		"a session that is no text": {`{"sessionId":1,` + webhook + `}`, 400, ""},
		"the same member twice":     {`{"sessionId":"s1","sessionId":"s2",` + webhook + `}`, 400, ""},
		"a path":                    {`{"sessionId":"../etc",` + webhook + `}`, 400, ""},
		"no webhook":                {`{"sessionId":"s1"}`, 400, "webhookUrl must be an http or https URL"},
		"a webhook of a file": {
			`{"sessionId":"s1","webhookUrl":"file:///etc/passwd"}`, 400, "webhookUrl must be an http or https URL",
		},
		"a webhook without a host": {
			`{"sessionId":"s1","webhookUrl":"https://?token=canary"}`, 400, "webhookUrl must be an http or https URL",
		},
		"a broken webhook": {
			`{"sessionId":"s1","webhookUrl":"https://x:y?token=canary"}`, 400, "webhookUrl must be an http or https URL",
		},
		"a turn without an id": {
			`{"sessionId":"s1","turn":{},` + webhook + `}`, 400, "turn.id must be 1 to 128 characters",
		},
		"a negative cursor": {
			`{"sessionId":"s1","cursor":{"epoch":-1,"seq":0},` + webhook + `}`, 400, "cursor must not be negative",
		},
		"an unknown agent":   {`{"sessionId":"s1","agent":"nobody",` + webhook + `}`, 400, ""},
		"an unknown project": {`{"sessionId":"s1","project":"nothing",` + webhook + `}`, 400, ""},
		"an unknown mode": {
			`{"sessionId":"s1","permissionMode":"yolo",` + webhook + `}`, 400,
			"permissionMode must be plan, ask, accept-edits or auto",
		},
		"a mode that is no text": {`{"sessionId":"s1","permissionMode":1,` + webhook + `}`, 400, ""},
		"a megabyte":             {`{"sessionId":"` + strings.Repeat("a", 1<<20) + `"}`, 413, "The body is too large"},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, body := h.call(request{"POST", "/session", c.body, []string{bearerPassword}})
			var answer protocol.ErrorBody
			if err := json.Unmarshal([]byte(body), &answer); err != nil || status != c.status || answer.Error == "" ||
				answer.Code == "" {
				t.Fatalf("got %d %s", status, body)
			}
			if c.message != "" {
				expectEqual(t, "message", answer.Error, c.message)
			}
			if strings.Contains(body, "canary") {
				t.Errorf("the answer quotes the token: %s", body)
			}
		})
	}
	_, _, body := h.call(request{"GET", "/status", "", []string{bearerPassword}})
	if !strings.Contains(body, `"sessions":[]`) {
		t.Errorf("a session was made: %s", body)
	}
}

func TestUnknownSessionsAreNotFound(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	for _, q := range []request{
		{"GET", "/session/s9/events", "", nil},
		{"POST", "/session/s9/interrupt", "", nil},
		{"POST", "/session/s9/revoke", "", nil},
		{"POST", "/session/s9/interactions/i", `{"approved":true}`, nil},
		{"GET", "/session/s9/diff", "", nil},
		{"DELETE", "/session/s9", "", nil},
	} {
		q.header = []string{bearerPassword}
		status, _, body := h.call(q)
		var answer protocol.ErrorBody
		if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusNotFound ||
			answer.Code != protocol.CodeNotFound {
			t.Errorf("%s %s: %d %s", q.method, q.path, status, body)
		}
	}
}

func TestEventsPage(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	h.prompt("s1", h.announce("s1", "t1"), "text hello\ntool look {\"path\":\".\"}\ntext bye").readAll()
	all := h.finishedEvents("s1")
	types := make([]string, 0, len(all))
	for _, event := range all {
		types = append(types, string(event.Type))
	}
	get := func(query string) (page struct {
		Epoch     int64            `json:"epoch"`
		Events    []protocol.Event `json:"events"`
		NextAfter int64            `json:"nextAfter"`
	},
	) {
		status, _, body := h.call(request{"GET", "/session/s1/events" + query, "", []string{bearerPassword}})
		if err := json.Unmarshal([]byte(body), &page); err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %s", query, status, body)
		}
		return page
	}
	for name, c := range map[string]struct {
		query       string
		first, many int
	}{
		"all":                        {"", 1, len(all)},
		"after one":                  {"?after=1", 2, len(all) - 1},
		"a limit":                    {"?limit=2", 1, 2},
		"a limit over the cap":       {"?limit=100000", 1, len(all)},
		"a negative limit":           {"?limit=-1", 1, len(all)},
		"a negative position":        {"?after=-5", 1, len(all)},
		"another epoch: from seq 1":  {"?epoch=7&after=3", 1, len(all)},
		"the current epoch":          {"?epoch=1&after=1", 2, len(all) - 1},
		"empty values count as none": {"?epoch=1&after=&limit=", 1, len(all)},
	} {
		t.Run(name, func(t *testing.T) {
			page := get(c.query)
			if page.Epoch != 1 || len(page.Events) != c.many || page.Events[0].Seq != int64(c.first) {
				t.Errorf("of %q got %+v", types, page)
			}
		})
	}
	if page := get("?after=1000"); len(page.Events) != 0 {
		t.Errorf("after the end: %+v", page)
	}
	for _, query := range []string{"?after=x", "?limit=1&limit=2", "?epoch=1.5"} {
		if status, _, body := h.call(request{
			"GET", "/session/s1/events" + query, "", []string{bearerPassword},
		}); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
}

func TestDeleteEndsTheSession(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	h.prompt("s1", token, "text hello").readAll()
	status, _, body := h.call(request{"DELETE", "/session/s1", "", []string{bearerPassword}})
	if status != http.StatusOK {
		t.Errorf("got %d", status)
	}
	expectEqual(t, "body", body, `{"success":true,"sessionId":"s1","worktreeKept":false}`)
	if status, _, _ := h.call(request{"GET", "/stream/s1?token=" + token, "", nil}); status != 401 && status != 404 {
		t.Errorf("its token still opens: %d", status)
	}
}

func TestInteractionsAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	h.open("s2")
	s := h.prompt("s1", token, "confirm write {\"path\":\"a\"}\nwait gate")
	parts := s.readUntil(protocol.PartToolApprovalRequest)
	path := "/session/s1/interactions/" + parts[len(parts)-1].ApprovalID
	yes, no := `{"approved":true}`, `{"approved":false,"reason":"no"}`
	for _, c := range []struct {
		rule   string
		q      request
		status int
		code   string
	}{
		{"an unknown one", request{"POST", "/session/s1/interactions/none", yes, []string{bearerPassword}}, 404, "not_found"},
		{
			"under another session",
			request{"POST", strings.Replace(path, "s1", "s2", 1), yes, []string{bearerPassword}},
			404, "not_found",
		},
		{"without an answer", request{"POST", path, `{}`, []string{bearerPassword}}, 400, "invalid"},
		{"an answer of another type", request{"POST", path, `{"approved":"yes"}`, []string{bearerPassword}}, 400, "invalid"},
		{
			"the body cannot choose the session",
			request{
				"POST", path + "?token=" + token, `{"approved":true,"id":"s2","ID":"s2","iid":"x","InteractionID":"x"}`, nil,
			},
			200, "",
		},
		{"the same answer again", request{"POST", path, yes, []string{bearerPassword}}, 200, ""},
		{"another answer", request{"POST", path, no, []string{bearerPassword}}, 409, "answered"},
	} {
		h.undescribed = c.rule == "the body cannot choose the session"
		status, _, body := h.call(c.q)
		var answer protocol.ErrorBody
		_ = json.Unmarshal([]byte(body), &answer)
		if status != c.status || string(answer.Code) != c.code {
			t.Errorf("%s: got %d %s", c.rule, status, body)
		}
	}
	h.fake.Release("gate")
	expectEqual(t, "the rest", partTypes(s.readAll()), "tool-approval-response, tool-result, finish")
}

// The journal names who gave a lasting answer. All holders of a stream token have one name.
func TestARememberedAnswerNamesItsGiver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by, want string
		token    bool
	}{
		"the broker names its user":               {`"by":"user-1"`, "user-1", false},
		"the broker names no one":                 {`"by":""`, protocol.ByLocal, false},
		"a stream token cannot name another user": {`"by":"user-1"`, protocol.ByStreamToken, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, nil)
			token := h.announce("s1", "t1")
			s := h.prompt("s1", token, "confirm write {\"path\":\"a\"}\nwait gate")
			parts := s.readUntil(protocol.PartToolApprovalRequest)
			q := request{
				"POST", "/session/s1/interactions/" + parts[len(parts)-1].ApprovalID,
				`{"approved":true,"remember":"session",` + c.by + `}`,
				[]string{bearerPassword},
			}
			if c.token {
				q.path, q.header = q.path+"?token="+token, nil
			}
			if status, _, body := h.call(q); status != http.StatusOK {
				t.Fatalf("got %d %s", status, body)
			}
			h.fake.Release("gate")
			s.readAll()
			_, _, body := h.call(request{"GET", "/session/s1/events", "", []string{bearerPassword}})
			if !strings.Contains(body, `"remembered":"write {\"path\":\"a\"}","by":"`+c.want+`"`) {
				t.Errorf("the journal does not name %s: %s", c.want, body)
			}
		})
	}
}

func TestEventsNameTheTurnWhosePromptMayStillCome(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	announced := func() bool {
		_, _, body := h.call(request{"GET", "/session/s1/events", "", []string{bearerPassword}})
		return strings.Contains(body, `"announcedTurn":"t1"`)
	}
	if !announced() {
		t.Error("an announced turn is not named")
	}
	h.prompt("s1", token, "text hi").readAll()
	if announced() {
		t.Error("a turn that began is still named")
	}
}
