package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

type answerBody struct {
	Text     string `json:"text"`
	Approved *bool  `json:"approved"`
	Count    int64  `json:"count"`
}

type fullRequest struct {
	ID       string  `param:"id" json:"-"`
	Limit    int     `query:"limit" json:"-"`
	After    *int64  `query:"after" json:"-"`
	Archived bool    `query:"archived" json:"-"`
	Search   *string `query:"q" json:"-"`
	answerBody
}

func (r *fullRequest) Validate() error {
	if r.Text == "forbidden" {
		return &protocol.Error{Code: protocol.CodeInvalid, Message: "text must not be forbidden", Hint: "Say something else"}
	}
	return nil
}

type fullResponse struct {
	ID       string  `json:"id"`
	Limit    int     `json:"limit"`
	After    *int64  `json:"after"`
	Archived bool    `json:"archived"`
	Search   *string `json:"q"`
	Text     string  `json:"text"`
	Approved *bool   `json:"approved"`
}

func echoRequest(_ context.Context, r *fullRequest) (*fullResponse, error) {
	return &fullResponse{r.ID, r.Limit, r.After, r.Archived, r.Search, r.Text, r.Approved}, nil
}

func TestHandleBindsPathQueryAndBody(t *testing.T) {
	t.Parallel()
	e, _ := newEcho()
	e.POST("/things/:id", httpapi.Handle(http.StatusOK, echoRequest))
	e.POST("/optional/:id", httpapi.Handle(http.StatusOK, echoRequest, httpapi.OptionalBody()))
	e.GET("/things/:id", httpapi.Handle(http.StatusOK, echoRequest))
	empty := `{"id":"7","limit":0,"after":null,"archived":false,"q":null,"text":"","approved":null}`
	cases := []struct {
		name, method, target, body string
		status                     int
		respond                    string
	}{
		{
			"everything", "POST", "/things/7?limit=5&after=-1&archived=true&q=%C3%A4",
			`{"text":"<a> & b","approved":false,"new":1}`, 200,
			`{"id":"7","limit":5,"after":-1,"archived":true,"q":"ä","text":"<a> & b","approved":false}`,
		},
		{
			"body members never reach path or query fields", "POST", "/things/7",
			`{"id":"8","ID":"8","limit":9,"Limit":9,"q":"x"}`, 200, empty,
		},
		{"an escaped path", "POST", "/things/a%2Fb%20c", `{}`, 200, strings.Replace(empty, `"7"`, `"a/b c"`, 1)},
		{"a plain path with an encoded space", "POST", "/things/a%20c", `{}`, 200, strings.Replace(empty, `"7"`, `"a c"`, 1)},
		{"a GET ignores a body", "GET", "/things/7", `not JSON`, 200, empty},
		{"an optional body", "POST", "/optional/7", ``, 200, empty},
		{
			"a missing body", "POST", "/things/7", ``,
			400, `{"error":"The body is empty","code":"invalid","hint":"Send a JSON object"}`,
		},
		{"an array", "POST", "/things/7", `[]`, 400, `{"error":"The body must be a JSON object","code":"invalid"}`},
		{
			"another type", "POST", "/things/7", `{"approved":"yes"}`,
			400, `{"error":"approved must be a boolean","code":"invalid"}`,
		},
		{
			"a fraction for an integer", "POST", "/things/7", `{"count":1.5}`,
			400, `{"error":"count must be an integer","code":"invalid"}`,
		},
		{
			"duplicate names", "POST", "/things/7", `{"text":"a","text":"b"}`,
			400, `{"error":"Invalid JSON: duplicate member name (at byte 12)","code":"invalid"}`,
		},
		{
			"a request that Validate refuses", "POST", "/things/7", `{"text":"forbidden"}`,
			400, `{"error":"text must not be forbidden","code":"invalid","hint":"Say something else"}`,
		},
		{
			"text as a number in the query", "GET", "/things/7?limit=canary", ``,
			400, `{"error":"limit must be an integer","code":"invalid"}`,
		},
		{
			"a number too large", "GET", "/things/7?after=9223372036854775808", ``,
			400, `{"error":"after must be an integer","code":"invalid"}`,
		},
		{"an empty number is absent", "GET", "/things/7?limit=", ``, 200, empty},
		{
			"a boolean in another form", "GET", "/things/7?archived=yes", ``,
			400, `{"error":"archived must be true or false","code":"invalid"}`,
		},
		{
			"a member twice in the query", "GET", "/things/7?limit=1&limit=2", ``,
			400, `{"error":"limit is given more than once","code":"invalid"}`,
		},
		{
			"a malformed query", "GET", "/things/7?q=%zz", ``,
			400, `{"error":"The query string is malformed","code":"invalid"}`,
		},
		{"NUL in the query", "GET", "/things/7?q=%00", ``, 400, `{"error":"q is no valid text","code":"invalid"}`},
		{"invalid UTF-8 in the path", "GET", "/things/%FF", ``, 400, `{"error":"id is no valid text","code":"invalid"}`},
		{"an empty path parameter", "GET", "/things/", ``, 404, `{"error":"Not found","code":"not_found"}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rec := call(e, c.method, c.target, c.body)
			requireAnswer(t, rec, c.status, c.respond)
			if got := rec.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type %q", got)
			}
		})
	}
}

type created struct {
	Fresh bool `json:"fresh"`
}

type selfMade struct{}

func (selfMade) HTTPStatus() int { return http.StatusCreated }

func TestHandleChoosesTheStatus(t *testing.T) {
	t.Parallel()
	e, _ := newEcho()
	type nothing struct{}
	fresh := func(is bool) func(context.Context, *nothing) (*created, error) {
		return func(context.Context, *nothing) (*created, error) { return &created{is}, nil }
	}
	choose := httpapi.Accepted(func(c *created) int {
		if c.Fresh {
			return http.StatusCreated
		}
		return http.StatusOK
	})
	e.POST("/new", httpapi.Handle(http.StatusOK, fresh(true), choose))
	e.POST("/old", httpapi.Handle(http.StatusOK, fresh(false), choose))
	e.POST("/plain", httpapi.Handle(http.StatusAccepted, fresh(false)))
	e.POST("/self",
		httpapi.Handle(http.StatusOK, func(context.Context, *nothing) (*selfMade, error) { return &selfMade{}, nil }))
	e.DELETE("/gone",
		httpapi.Handle(http.StatusNoContent, func(context.Context, *nothing) (*nothing, error) { return nil, nil }))
	requireAnswer(t, call(e, "POST", "/new", ""), 201, `{"fresh":true}`)
	requireAnswer(t, call(e, "POST", "/old", ""), 200, `{"fresh":false}`)
	requireAnswer(t, call(e, "POST", "/plain", "ignored"), 202, `{"fresh":false}`)
	requireAnswer(t, call(e, "POST", "/self", ""), 201, `{}`)
	requireAnswer(t, call(e, "DELETE", "/gone", ""), 204, ``)
}

func TestHandleRefusesUnsafeTypesAtRegistration(t *testing.T) {
	t.Parallel()
	type open struct {
		ID string `param:"id"`
	}
	type odd struct {
		IDs []string `query:"ids" json:"-"`
	}
	mustPanic := func(name string, register func()) {
		defer func() {
			if recover() == nil {
				t.Errorf("%s was accepted", name)
			}
		}()
		register()
	}
	mustPanic("a path field that a body could set", func() {
		httpapi.Handle(200, func(context.Context, *open) (*created, error) { return nil, nil })
	})
	mustPanic("a query field of a type that cannot be bound", func() {
		httpapi.Handle(200, func(context.Context, *odd) (*created, error) { return nil, nil })
	})
	mustPanic("a request that is no struct", func() {
		httpapi.Handle(200, func(context.Context, *string) (*created, error) { return nil, nil })
	})
}
