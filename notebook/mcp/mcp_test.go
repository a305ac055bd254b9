package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/internal/httpapi"
	"bellhop/internal/testenv"
	"bellhop/notebook"
	"bellhop/notebook/mcp"
	"bellhop/notebook/store/storetest"
	"bellhop/notebook/verify"
	"bellhop/protocol"
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(testenv.Main(m))
}

var update = flag.Bool("update", false, "write the golden file")

// site is a server that accepts the bearer tokens "<user>/<agent>".
type site struct {
	*notebook.Service
	t    *testing.T
	url  string
	ada  string
	logs *bytes.Buffer
}

type callerKey struct{}

func newSite(t *testing.T) *site {
	t.Helper()
	books := storetest.Open(t)
	s := &site{t: t, ada: books.User(t), logs: &bytes.Buffer{}}
	s.Service = notebook.New(notebook.Options{Store: books, Verifier: verify.New(verify.Options{})})
	log := slog.New(slog.NewTextHandler(s.logs, nil))
	server := &mcp.Server{
		Notebooks: s.Service, Agent: guard, Version: "1", PublicURL: "https://bellhop.example/base/", Log: log,
		Caller: func(ctx context.Context) notebook.Caller {
			c, _ := ctx.Value(callerKey{}).(notebook.Caller)
			return c
		},
	}
	e := httpapi.New(httpapi.Options{Log: log})
	server.Routes(e)
	h := httptest.NewServer(e)
	t.Cleanup(h.Close)
	s.url = h.URL + "/mcp"
	return s
}

func guard(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		user, agent, ok := strings.Cut(strings.TrimPrefix(c.Request().Header.Get("Authorization"), "Bearer "), "/")
		if !ok {
			return protocol.Errorf(protocol.CodeUnauthorized, "Unauthorized")
		}
		ctx := context.WithValue(c.Request().Context(), callerKey{}, notebook.Caller{UserID: user, AgentIdentifier: agent})
		c.SetRequest(c.Request().WithContext(ctx))
		return next(c)
	}
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func (s *site) connect(agent string) *sdk.ClientSession {
	s.t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(s.t.Context(), &sdk.StreamableClientTransport{
		Endpoint: s.url, HTTPClient: &http.Client{Transport: bearer(s.ada + "/" + agent)},
	}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = session.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return session
}

func (s *site) call(session *sdk.ClientSession, tool string, args map[string]any) (out map[string]any, failure string) {
	s.t.Helper()
	result, err := session.CallTool(s.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		s.t.Fatalf("%s: %v", tool, err)
	}
	if result.IsError {
		return nil, result.Content[0].(*sdk.TextContent).Text
	}
	out, _ = result.StructuredContent.(map[string]any)
	return out, ""
}

func TestTheToolDescriptionsAreGolden(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	session := s.connect("ada")
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(map[string]any{
		"instructions": session.InitializeResult().Instructions, "tools": listed.Tools,
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "tools.json")
	if *update {
		if err := os.WriteFile(golden, append(got, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.TrimSpace(want), got) {
		t.Errorf("the tools have changed: look at the difference, then run with -update\n%s", got)
	}
}

func TestEveryToolWithARealClient(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	session := s.connect("ada")
	book, _ := s.call(session, "create_agent_notebook", map[string]any{"agentName": "Ada", "agentIdentifier": "ada"})
	notebookID := book["notebook"].(map[string]any)["id"].(string)
	saved, _ := s.call(session, "save_code_with_context", map[string]any{
		"notebookId": notebookID, "title": "t", "code": `{"a":1}`, "context": "c",
	})
	source := saved["source"].(map[string]any)
	if source["content"] != "" || source["contentOmitted"] != true ||
		source["metadata"].(map[string]any)["isVerified"] != true {
		t.Errorf("source %+v", source)
	}
	verification, _ := s.call(session, "verify_code", map[string]any{"code": "{", "language": "json"})
	if verification["verdict"] != "failed" {
		t.Errorf("verification %+v", verification)
	}
	asked, err := s.Ask(t.Context(), s.ada, source["id"].(string), &notebook.AskRequest{Content: "Why?"})
	if err != nil {
		t.Fatal(err)
	}
	open, _ := s.call(session, "get_followup_messages", nil)
	if list := open["messages"].([]any); len(list) != 1 || list[0].(map[string]any)["id"] != asked.Message.ID ||
		list[0].(map[string]any)["sourceCode"] != `{"a":1}` || list[0].(map[string]any)["originalContext"] != "c" {
		t.Errorf("open %+v", open)
	}
	answer := map[string]any{
		"messageId": asked.Message.ID, "response": "So.",
		"codeUpdate": map[string]any{"code": `{"a":2}`, "description": "two"},
	}
	answered, _ := s.call(session, "respond_to_followup", answer)
	if answered["source"].(map[string]any)["version"] != 2.0 {
		t.Errorf("answered %+v", answered)
	}
	mine, _ := s.call(session, "list_my_sources", nil)
	if list := mine["sources"].([]any); len(list) != 1 || list[0].(map[string]any)["version"] != 2.0 {
		t.Errorf("sources %+v", mine)
	}
	for _, c := range []struct {
		name, tool string
		args       map[string]any
		want       string
	}{
		{
			"answered twice", "respond_to_followup",
			answer, "This message has been answered. get_followup_messages lists those that wait. (answered)",
		},
		{
			"no such notebook", "save_code_with_context",
			map[string]any{"notebookId": "x", "title": "t", "code": "c", "context": "c"},
			"Notebook not found. (not_found)",
		},
		{
			"another agent", "create_agent_notebook",
			map[string]any{"agentName": "B", "agentIdentifier": "bob"},
			"This token belongs to another agent. Its agentIdentifier is ada. (forbidden)",
		},
		{
			"another agent's session", "get_followup_messages",
			map[string]any{"agentSessionId": "x"},
			"Agent session not found. (not_found)",
		},
	} {
		if _, got := s.call(session, c.tool, c.args); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	s.changeAndDelete(session, source["id"].(string))
	if strings.Contains(s.logs.String(), "level=ERROR") {
		t.Errorf("logged\n%s", s.logs)
	}
}

// changeAndDelete follows an answer that made version 2.
func (s *site) changeAndDelete(session *sdk.ClientSession, id string) {
	s.t.Helper()
	read, _ := s.call(session, "get_source", map[string]any{"sourceId": id, "conversation": true})
	if read["source"].(map[string]any)["content"] != `{"a":2}` || len(read["messages"].([]any)) != 2 {
		s.t.Errorf("read %+v", read)
	}
	change := map[string]any{"sourceId": id, "code": `{"a":3}`, "baseVersion": 2}
	changed, _ := s.call(session, "update_source", change)
	if source := changed["source"].(map[string]any); source["version"] != 3.0 || source["contentOmitted"] != true {
		s.t.Errorf("changed %+v", changed)
	}
	change["code"] = `{"a":4}`
	if _, got := s.call(session, "update_source", change); !strings.HasSuffix(got, "(conflict)") {
		s.t.Errorf("changed an old version: %q", got)
	}
	change["code"] = strings.Repeat("x", notebook.MaxCode+1)
	if _, got := s.call(session, "update_source", change); got != "code is larger than 524288 bytes. (too_large)" {
		s.t.Errorf("large code: %q", got)
	}
	if deleted, failure := s.call(session, "delete_source", map[string]any{"sourceId": id}); deleted["success"] != true {
		s.t.Errorf("deleted %+v, %s", deleted, failure)
	}
	for tool, args := range map[string]map[string]any{
		"get_source": {"sourceId": id}, "update_source": {"sourceId": id, "code": "1"}, "delete_source": {"sourceId": id},
	} {
		if _, got := s.call(session, tool, args); got != "Source not found. (not_found)" {
			s.t.Errorf("%s of a deleted source: %q", tool, got)
		}
	}
}

func TestModelsGetTextWithoutHTMLEscapes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	session := s.connect("ada")
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{
		Name:      "create_agent_notebook",
		Arguments: map[string]any{"agentName": "Ada", "agentIdentifier": "ada", "title": "(a) => a < 1 && \"é\""},
	})
	if err != nil {
		t.Fatal(err)
	}
	read := result.Content[0].(*sdk.TextContent).Text
	if len(result.Content) != 1 || !strings.Contains(read, `"title":"(a) => a < 1 && \"é\""`) {
		t.Errorf("content %s", read)
	}
	var same any
	if err := json.Unmarshal([]byte(read), &same); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(same, result.StructuredContent) {
		t.Errorf("content   %v\nstructured %v", same, result.StructuredContent)
	}
}

const noOAuth = "Bellhop issues no OAuth tokens. Create an API token of kind agent on the console's tokens page, " +
	"and send it as Authorization: Bearer"

// Clients with OAuth look for metadata after a 401, and try to register where there is none.
func TestOAuthClientsLearnWhichTokenToSend(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	root := strings.TrimSuffix(s.url, "/mcp")
	for _, c := range []struct{ method, path, want string }{
		{"GET", "/.well-known/oauth-protected-resource", "200 " + metadata},
		{"GET", "/.well-known/oauth-protected-resource/mcp", "200 " + metadata},
		{"POST", "/register", `400 {"error":"access_denied","error_description":"` + noOAuth + `"}`},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, root+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if got := fmt.Sprint(resp.StatusCode, " ", strings.TrimSpace(string(body))); err != nil || got != c.want {
			t.Errorf("%s %s: %s, %v", c.method, c.path, got, err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

const metadata = `{"bearer_methods_supported":["header"],"resource":"https://bellhop.example/base/mcp",` +
	`"resource_documentation":"https://bellhop.example/base/tokens",` +
	`"resource_name":"Bellhop notebooks: API tokens of kind agent, no OAuth"}`

func TestRequestsThatAreNoToolCall(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const (
		challenge = `Bearer error="invalid_token", error_description="` + noOAuth + `", ` +
			`resource_metadata="https://bellhop.example/base/.well-known/oauth-protected-resource/mcp"`
		refused = `{"error":"invalid_token","error_description":"` + noOAuth + `","code":"unauthorized",` +
			`"hint":"` + notebook.TokenHint + `"}`
	)
	rpc := func(code int, message, data string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q,"data":{%s}}}`, code, message, data)
	}
	for _, c := range []struct {
		name, method, token, body string
		status                    int
		header, value, want       string
	}{
		{
			"no token", "POST", "", `{}`, 401, "Www-Authenticate", challenge, refused,
		},
		{"a wrong token", "POST", "Bearer x", `{}`, 401, "Www-Authenticate", challenge, refused},
		{"a stream without a token", "GET", "", ``, 401, "Www-Authenticate", challenge, refused},
		{"a stream with a wrong token", "GET", "Bearer x", ``, 401, "Www-Authenticate", challenge, refused},
		{
			"a stream", "GET", "Bearer a/b", ``, 405, "Allow",
			"OPTIONS, POST", rpc(-32000, "Method not allowed", `"code":"method_not_allowed"`),
		},
		{
			"deep nesting", "POST", "Bearer a/b", strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70), 400, "",
			"", rpc(-32600, "The body is nested deeper than 64 levels", `"code":"invalid"`),
		},
		{"a name twice", "POST", "Bearer a/b", `{"id":1,"id":2}`, 400, "", "", ""},
		{
			"a batch", "POST", "Bearer a/b", ` [{"jsonrpc":"2.0","id":1,"method":"ping"}]`, 400, "", "",
			rpc(-32600, "JSON-RPC batches are not supported", `"code":"invalid","hint":"Send one message in each request"`),
		},
		{
			"5 MiB", "POST", "Bearer a/b", strings.Repeat(" ", 5<<20), 413, "",
			"", rpc(-32600, "The body is too large", `"code":"too_large","hint":"The limit is 4 MiB"`),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), c.method, s.url, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			if c.token != "" {
				req.Header.Set("Authorization", c.token)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(string(body)); resp.StatusCode != c.status || c.want != "" && got != c.want {
				t.Errorf("%d %s", resp.StatusCode, got)
			}
			if c.header != "" && resp.Header.Get(c.header) != c.value {
				t.Errorf("%s: %q", c.header, resp.Header.Get(c.header))
			}
		})
	}
	http.DefaultClient.CloseIdleConnections()
}
