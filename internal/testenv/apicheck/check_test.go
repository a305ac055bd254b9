package apicheck

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"go.uber.org/goleak"

	"bellhop/openapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a test that notes its errors.
type recorder struct {
	testing.TB

	errors []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestBothDocumentsAreValid(t *testing.T) {
	t.Parallel()
	for _, d := range []*openapi.Document{openapi.Broker(), openapi.Host()} {
		if err := validDocument(d.YAML); err != nil {
			t.Error(err)
		}
	}
	if err := validDocument([]byte("openapi: 3.1.0\ninfo: {title: t}\npaths: {}\n")); err == nil {
		t.Error("a document without a version is valid")
	}
}

// validDocument checks a document against the schema of OpenAPI 3.1.
func validDocument(document []byte) error {
	parsed, err := libopenapi.NewDocument(document)
	if err != nil {
		return err
	}
	v, errs := validator.NewValidator(parsed)
	if len(errs) > 0 {
		return errs[0]
	}
	if valid, problems := v.ValidateDocument(); !valid {
		return fmt.Errorf("the document is not valid: %s", list(problems))
	}
	return nil
}

func TestWhatTheCheckerFinds(t *testing.T) {
	t.Parallel()
	const task = `{"id":"1","title":"t","mode":"agent","agent":"a","project":"","hostId":"","agentUrl":"","agentStatus":"idle",` +
		`"reason":"","openTurn":null,"lastTurn":null,"openInteractions":0,"readRev":0,"rev":1,"archived":false,` +
		`"createdAt":"2026-01-02T03:04:05Z","lastActivityAt":"2026-01-02T03:04:05Z"}`
	const stream, feed = "text/event-stream; charset=utf-8", "/api/tasks/1/events"
	for name, c := range map[string]struct {
		method, target, sent string
		status               int
		media, got           string
		want                 string // of the error; "" is none
	}{
		"a good answer":          {"GET", "/api/tasks/1", "", 200, "", task, ""},
		"an unknown member":      {"GET", "/api/tasks/1", "", 200, "", task[:len(task)-1] + `,"more":1}`, "more"},
		"a missing member":       {"GET", "/api/tasks/1", "", 200, "", strings.Replace(task, `"rev":1,`, "", 1), "rev"},
		"another type":           {"GET", "/api/tasks/1", "", 200, "", strings.Replace(task, `"rev":1`, `"rev":"1"`, 1), "rev"},
		"an unknown value":       {"GET", "/api/tasks/1", "", 200, "", strings.Replace(task, `"idle"`, `"lazy"`, 1), "agentStatus"},
		"null":                   {"GET", "/api/tasks/1", "", 200, "", strings.Replace(task, `"title":"t"`, `"title":null`, 1), "title"},
		"another status":         {"GET", "/api/tasks/1", "", 202, "", task, "202"},
		"another media type":     {"GET", "/api/tasks/1", "", 200, "text/html", task, "text/html"},
		"an error":               {"GET", "/api/tasks/1", "", 404, "", `{"error":"e","code":"not_found"}`, ""},
		"a code of other routes": {"GET", "/api/tasks/1", "", 404, "", `{"error":"e","code":"gone"}`, `"gone"`},
		"an unknown error":       {"GET", "/api/tasks/1", "", 418, "", `{"error":"e","code":"not_found"}`, "418"},
		"a good request": {
			"POST", "/api/tasks", `{"title":"t"}`, 201, "", task, "",
		},
		"an unknown member of a request": {"POST", "/api/tasks", `{"title":"t","more":1}`, 201, "", task, "more"},
		"another type in a request":      {"POST", "/api/tasks", `{"title":7}`, 201, "", task, "title"},
		"a refused request":              {"POST", "/api/tasks", `{"title":7}`, 400, "", `{"error":"e","code":"invalid"}`, ""},
		"an unknown parameter":           {"GET", "/api/tasks?colour=red", "", 200, "", `{"tasks":[],"nextCursor":""}`, "colour"},
		"a parameter of another type":    {"GET", "/api/tasks?limit=x", "", 200, "", `{"tasks":[],"nextCursor":""}`, "limit"},
		"an unknown route":               {"GET", "/api/nothing", "", 404, "", `{"error":"e","code":"not_found"}`, ""},
		"a route that should not exist":  {"GET", "/api/nothing", "", 200, "", `{}`, "no such operation"},
		"a good frame":                   {"GET", feed, "", 200, stream, "event: hello\ndata: {\"rev\":1}\n\n", ""},
		"an unknown frame":               {"GET", feed, "", 200, stream, "event: hi\ndata: {}\n\n", `no event "hi"`},
		"a frame of another type":        {"GET", feed, "", 200, stream, "event: hello\ndata: {\"rev\":\"1\"}\n\n", "rev"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.target, strings.NewReader(c.sent))
			r.Header.Set("Authorization", "Bearer x")
			if c.sent != "" {
				r.Header.Set("Content-Type", "application/json")
			}
			media := c.media
			if media == "" {
				media = "application/json"
			}
			var found recorder
			Broker(t).Exchange(&found, r, []byte(c.sent), c.status, http.Header{"Content-Type": {media}}, []byte(c.got))
			switch all := strings.Join(found.errors, "\n"); {
			case c.want == "" && all != "":
				t.Error(all)
			case c.want != "" && !strings.Contains(all, c.want):
				t.Errorf("found %q, want %q", all, c.want)
			}
		})
	}
}
