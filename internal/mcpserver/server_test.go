package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/internal/httpapi"
	"bellhop/internal/mcpserver"
	"bellhop/protocol"
)

type greeting struct {
	Name  string `json:"name" jsonschema:"who is greeted"`
	Title string `json:"title,omitempty" jsonschema:"of the person"`
}

type answer struct {
	Text string `json:"text"`
}

// maxBody is the limit of the test's server, in bytes.
const maxBody = 1 << 10

// sender sends a request, which may have a header, to a server.
type sender func(method, body string, header ...string) *http.Response

// serve starts a server with the tool "greet". It returns a sender and the server's log.
func serve(t *testing.T, greet func(*greeting) (*answer, error)) (sender, *bytes.Buffer) {
	t.Helper()
	logged := &bytes.Buffer{}
	log := slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	server := mcpserver.New(mcpserver.Options{
		Title: "A test", Version: "1.2.3", Instructions: "Greet politely.", MaxBody: maxBody, Log: log,
	})
	mcpserver.Add(server, &sdk.Tool{Name: "greet", Description: "Greets."},
		func(_ context.Context, in *greeting) (*answer, error) { return greet(in) })
	e := httpapi.New(httpapi.Options{Log: log})
	e.POST("/mcp", server.Handle, httpapi.FormatErrors(mcpserver.FormatError))
	e.GET("/mcp", mcpserver.NoStream)
	return func(method, body string, header ...string) *http.Response {
		req := httptest.NewRequestWithContext(t.Context(), method, "/mcp", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if len(header) == 2 {
			req.Header.Set(header[0], header[1])
		}
		recorded := httptest.NewRecorder()
		e.ServeHTTP(recorded, req)
		return recorded.Result()
	}, logged
}

func polite(in *greeting) (*answer, error) { return &answer{"Hello <" + in.Name + "> & all"}, nil }

// content is what a model gets of a tool's call.
type content struct {
	Result struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
		IsError           bool
	}
}

func call(t *testing.T, send sender, arguments string) (c content) {
	t.Helper()
	resp := send(http.MethodPost,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":`+arguments+`}}`)
	if err := json.NewDecoder(resp.Body).Decode(&c); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v", resp.Status, err)
	}
	if len(c.Result.Content) != 1 {
		t.Fatalf("the result has %d pieces of content, want 1", len(c.Result.Content))
	}
	return c
}

func TestAToolAnswersWithUnescapedText(t *testing.T) {
	t.Parallel()
	send, _ := serve(t, polite)
	got := call(t, send, `{"name":"Ada"}`).Result
	if want := `{"text":"Hello <Ada> & all"}`; got.Content[0].Text != want || got.IsError {
		t.Errorf("the model reads %q (an error: %v), want %q", got.Content[0].Text, got.IsError, want)
	}
	var structured answer
	if err := json.Unmarshal(got.StructuredContent, &structured); err != nil || structured.Text != "Hello <Ada> & all" {
		t.Errorf("the structured content is %s (%v)", got.StructuredContent, err)
	}
}

func TestAModelReadsMessageHintAndCodeOfAnError(t *testing.T) {
	t.Parallel()
	const internal = "Internal error. Try again later. (internal)"
	hinted := &protocol.Error{Code: protocol.CodeInvalid, Message: "No name", Hint: "Send one."}
	marked := &protocol.Error{Code: protocol.CodeInternal, Message: "the password is x"}
	for name, tt := range map[string]struct {
		err  error
		want string
		logs bool
	}{
		"with a hint":       {hinted, "No name. Send one. (invalid)", false},
		"without":           {protocol.Errorf(protocol.CodeNotFound, "Gone."), "Gone. (not_found)", false},
		"an internal one":   {errors.New("the password is x"), internal, true},
		"one marked so":     {marked, internal, true},
		"a wrapped refusal": {errors.Join(protocol.Errorf(protocol.CodeConflict, "Taken")), "Taken. (conflict)", false},
	} {
		t.Run(name, func(t *testing.T) {
			send, logged := serve(t, func(*greeting) (*answer, error) { return nil, tt.err })
			got := call(t, send, `{"name":"Ada"}`).Result
			if got.Content[0].Text != tt.want || !got.IsError {
				t.Errorf("the model reads %q (an error: %v), want %q", got.Content[0].Text, got.IsError, tt.want)
			}
			if logs := strings.Contains(logged.String(), "the password is x"); logs != tt.logs {
				t.Errorf("the cause is logged: %v\n%s", logs, logged)
			}
		})
	}
}

// Each request gets its own id back, to the last digit.
func TestARequestGetsItsOwnIDBack(t *testing.T) {
	t.Parallel()
	send, _ := serve(t, polite)
	for _, id := range []string{
		"1", "0", "-7", "9007199254740991", "9007199254740993", "9223372036854775807", "18446744073709551615",
		"1.5", "1e3", `"a"`, `""`, `"9007199254740993"`, `"<é>\u0001"`,
	} {
		for _, rest := range []string{
			`"method":"ping"`, `"method":"no/such"`, `"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}`,
		} {
			resp := send(http.MethodPost, `{"jsonrpc":"2.0","id":`+id+`,`+rest+`}`)
			var got struct{ ID json.RawMessage }
			if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
				t.Fatalf("%s %s: %v", id, rest, err)
			}
			if string(got.ID) != id || resp.StatusCode != http.StatusOK {
				t.Errorf("%s %s: %s with id %s", id, rest, resp.Status, got.ID)
			}
		}
	}
}

func TestWhatCannotBeAnsweredIsAnErrorOfJSONRPC(t *testing.T) {
	t.Parallel()
	send, _ := serve(t, polite)
	const request = `{"jsonrpc":"2.0","id":7,"method":`
	nested := strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)
	for name, tt := range map[string]struct {
		body   string
		status int
		id     string
		code   int
		want   string
	}{
		"a batch":            {` [{"jsonrpc":"2.0","id":1,"method":"ping"}]`, 400, "null", -32600, "batches are not supported"},
		"a member twice":     {`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, 400, "null", -32600, "id"},
		"no JSON":            {`{`, 400, "null", -32700, "JSON"},
		"half a batch":       {`[`, 400, "null", -32700, "JSON"},
		"nothing":            {``, 400, "null", -32700, "empty"},
		"no object":          {`7`, 400, "null", -32600, "object"},
		"deep nesting":       {nested, 400, "null", -32600, "nested"},
		"more than the most": {`{"x":"` + strings.Repeat("x", maxBody) + `"}`, 413, "null", -32600, "too large"},
		"the id null":        {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, 400, "null", -32600, "id must be"},
		"an object as id":    {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, 400, "null", -32600, "id must be"},
		"another version":    {`{"jsonrpc":"1.0","id":7,"method":"ping"}`, 400, "7", -32600, "jsonrpc"},
		"no version":         {`{"id":7,"method":"ping"}`, 400, "7", -32600, "jsonrpc"},
		"no method":          {`{"jsonrpc":"2.0","id":7}`, 400, "7", -32600, "method"},
		"a number as method": {request + `1}`, 400, "7", -32600, "method"},
		"a call without id":  {`{"jsonrpc":"2.0","method":"tools/list"}`, 400, "null", -32600, "needs an id"},
		"an unknown method":  {request + `"no/such"}`, 200, "7", -32601, `no method "no/such"`},
		"no method's name":   {request + `""}`, 200, "7", -32601, `no method ""`},
		"subscriptions":      {request + `"subscriptions/listen","params":{"notifications":{}}}`, 200, "7", -32601, "no method"},
		"a notification's":   {request + `"notifications/initialized"}`, 200, "7", -32601, "no method"},
		"params in a list":   {request + `"tools/call","params":[]}`, 200, "7", -32602, "params must be an object"},
		"no params":          {request + `"tools/call"}`, 200, "7", -32602, "params.name"},
		"null as params":     {request + `"tools/call","params":null}`, 200, "7", -32602, "params.name"},
		"no tool's name":     {request + `"tools/call","params":{"name":7}}`, 200, "7", -32602, "params.name"},
		"an unknown tool":    {request + `"tools/call","params":{"name":"x"}}`, 200, "7", -32602, `unknown tool "x"`},
		"a list of arguments": {
			request + `"tools/call","params":{"name":"greet","arguments":[]}}`, 200, "7", -32602, "params.arguments",
		},
		"no hello":    {request + `"initialize"}`, 200, "7", -32602, "params"},
		"an odd page": {request + `"tools/list","params":{"cursor":7}}`, 200, "7", -32602, "params of tools/list are not valid"},
		"an odd hello": {
			request + `"initialize","params":{"protocolVersion":7}}`, 200, "7", -32602, "params of initialize are not valid",
		},
	} {
		t.Run(name, func(t *testing.T) {
			resp := send(http.MethodPost, tt.body)
			checkRefusal(t, resp, tt.status, tt.id, tt.code, tt.want)
		})
	}
}

func checkRefusal(t *testing.T, resp *http.Response, status int, id string, code int, message string) {
	t.Helper()
	var got struct {
		JSONRPC string
		ID      json.RawMessage
		Error   struct {
			Code    int
			Message string
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != status || got.JSONRPC != "2.0" || string(got.ID) != id || got.Error.Code != code ||
		!strings.Contains(got.Error.Message, message) {
		t.Errorf("%s id %s %+v, want %d, id %s, %d %q", resp.Status, got.ID, got.Error, status, id, code, message)
	}
}

func TestAnUnknownVersionOfMCPIsRefused(t *testing.T) {
	t.Parallel()
	send, _ := serve(t, polite)
	for _, version := range []string{"1999-01-01", "2099-01-01", "x"} {
		resp := send(http.MethodPost, `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, "Mcp-Protocol-Version", version)
		checkRefusal(t, resp, http.StatusBadRequest, "9007199254740993", sdk.CodeUnsupportedProtocolVersion, "not supported")
	}
}

// Notifications and responses get no answer; what is unknown is ignored.
func TestNotificationsGetNoAnswer(t *testing.T) {
	t.Parallel()
	send, _ := serve(t, polite)
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","method":"notifications/no/such","params":7}`,
		`{"jsonrpc":"2.0","method":"no/such"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
	} {
		resp := send(http.MethodPost, body)
		if got, err := io.ReadAll(resp.Body); resp.StatusCode != http.StatusAccepted || len(got) > 0 || err != nil {
			t.Errorf("%s: %s %s, %v", body, resp.Status, got, err)
		}
	}
}

// null is what some models send for an argument that they leave out.
func TestNullForAnOptionalArgumentIsAbsent(t *testing.T) {
	t.Parallel()
	send, _ := serve(t, func(in *greeting) (*answer, error) { return &answer{in.Title + in.Name}, nil })
	if got := call(t, send, `{"name":"Ada","title":null}`).Result; got.IsError || got.Content[0].Text != `{"text":"Ada"}` {
		t.Errorf("the model reads %q (an error: %v)", got.Content[0].Text, got.IsError)
	}
	for _, arguments := range []string{`null`, `{"name":null}`} {
		got := call(t, send, arguments).Result
		if !got.IsError || !strings.Contains(got.Content[0].Text, `missing properties: ["name"]`) {
			t.Errorf("%s: the model reads %q (an error: %v)", arguments, got.Content[0].Text, got.IsError)
		}
	}
}

func TestAWrongArgumentReachesNoTool(t *testing.T) {
	t.Parallel()
	called := false
	send, _ := serve(t, func(in *greeting) (*answer, error) {
		called = true
		return polite(in)
	})
	if got := call(t, send, `{"name":7}`).Result; !got.IsError || called {
		t.Errorf("the model reads %q, the tool was called: %v", got.Content[0].Text, called)
	}
}

func TestThereIsNoStreamToOpen(t *testing.T) {
	t.Parallel()
	send, _ := serve(t, polite)
	resp := send(http.MethodGet, "")
	if allow := resp.Header.Get("Allow"); resp.StatusCode != http.StatusMethodNotAllowed || allow != "OPTIONS, POST" {
		t.Errorf("%s, Allow %q", resp.Status, allow)
	}
}

func TestAClientLearnsWhoServesAndWhatFor(t *testing.T) {
	t.Parallel()
	send, logged := serve(t, polite)
	resp := send(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+
		`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`)
	var got struct{ Result sdk.InitializeResult }
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	info := got.Result.ServerInfo
	if info == nil || info.Name != "bellhop" || info.Title != "A test" || info.Version != "1.2.3" {
		t.Errorf("the server calls itself %+v", info)
	}
	if got.Result.Instructions != "Greet politely." || got.Result.Capabilities.Tools.ListChanged {
		t.Errorf("it says %q, %+v", got.Result.Instructions, got.Result.Capabilities.Tools)
	}
	if strings.Contains(logged.String(), "server session") {
		t.Errorf("the SDK logs every connection:\n%s", logged)
	}
}
