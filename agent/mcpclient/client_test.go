package mcpclient

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"bellhop/agent"
	"bellhop/protocol"
)

// asServer is the variable that makes this test binary an MCP server on stdio.
const asServer = "MCPCLIENT_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		if err := testServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

type text struct {
	Text string `json:"text"`
}

func answer(s string) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}, nil, nil
}

// testServer has tools that echo, fail, list the environment, hang and exit.
func testServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	mcp.AddTool(s,
		&mcp.Tool{Name: "echo", Description: "Says it again.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
			return answer("you said " + in.Text)
		})
	mcp.AddTool(s, &mcp.Tool{Name: "fail", Description: "Fails."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New("no luck")
		})
	mcp.AddTool(s, &mcp.Tool{Name: "look.around", Description: "Tells where it is."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			dir, _ := os.Getwd()
			return answer(dir + " " + os.Getenv("CONFIGURED") + " " + os.Getenv("OPENAI_API_KEY"))
		})
	mcp.AddTool(s, &mcp.Tool{Name: "hang", Description: "Hangs."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			<-ctx.Done()
			return nil, nil, ctx.Err()
		})
	mcp.AddTool(s, &mcp.Tool{Name: "die", Description: "Dies."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			os.Exit(3)
			return nil, nil, nil
		})
	return s
}

func self(t *testing.T) Server {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Command: path, Env: map[string]string{asServer: "1", "CONFIGURED": "yes"}}
}

func connected(t *testing.T, servers map[string]Server, dir string) *Servers {
	t.Helper()
	s, err := Connect(t.Context(), Config{Servers: servers}, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func named(t *testing.T, s *Servers, name string) agent.Tool {
	t.Helper()
	for _, tool := range s.Tools() {
		if tool.Spec.Name == name {
			return tool
		}
	}
	t.Fatalf("no tool %s", name)
	return agent.Tool{}
}

func TestToolsOfAServerOnStdio(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "secret")
	dir, err := os.MkdirTemp(t.TempDir(), "work")
	if err != nil {
		t.Fatal(err)
	}
	s := connected(t, map[string]Server{"my.files": self(t)}, dir)
	names := []string{}
	for _, tool := range s.Tools() {
		names = append(names, tool.Spec.Name)
	}
	slices.Sort(names)
	if got := strings.Join(names,
		" "); got != "mcp__my_files__die mcp__my_files__echo mcp__my_files__fail mcp__my_files__hang "+
		"mcp__my_files__look_around" {
		t.Errorf("offered %s", got)
	}
	echo := named(t, s, "mcp__my_files__echo")
	want := `{"additionalProperties":false,"properties":{"text":{"type":"string"}},"required":["text"],"type":"object"}`
	if string(echo.Spec.Schema) != want || echo.Spec.Description != "Says it again." ||
		echo.Prompt != "Use echo of the MCP server my.files?" || echo.Warning.Level != "INFO" {
		t.Errorf("offered %s, %+v", echo.Spec.Schema, echo)
	}
	if got, err := echo.Run(t.Context(), []byte(`{"text":"hi"}`)); got != "you said hi" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := named(t, s, "mcp__my_files__fail").Run(t.Context(), []byte(`{}`)); err == nil ||
		err.Error() != "no luck" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := named(t, s, "mcp__my_files__look_around").Run(t.Context(), []byte(`{}`)); got != dir+" yes " ||
		err != nil {
		t.Errorf("the server sees %q, %v", got, err)
	}
	if named(t, s, "mcp__my_files__fail").Warning.Level != "WARN" {
		t.Error("a tool that may write is no WARN")
	}
}

func TestAnInterruptedCallReturns(t *testing.T) {
	t.Parallel()
	s := connected(t, map[string]Server{"x": self(t)}, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := named(t, s, "mcp__x__hang").Run(ctx, []byte(`{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if got, err := named(t, s, "mcp__x__echo").Run(t.Context(),
		[]byte(`{"text":"still here"}`)); got != "you said still here" {
		t.Errorf("after it: %q, %v", got, err)
	}
}

func TestCallsFailAfterTheServerExited(t *testing.T) {
	t.Parallel()
	s := connected(t, map[string]Server{"x": self(t), "y": self(t)}, t.TempDir())
	for _, tool := range []string{"mcp__x__die", "mcp__x__echo"} {
		if _, err := named(t, s, tool).Run(t.Context(), []byte(`{}`)); protocol.CodeOf(err) != protocol.CodeBadGateway {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if got, err := named(t, s, "mcp__y__echo").Run(t.Context(), []byte(`{"text":"hi"}`)); got != "you said hi" {
		t.Errorf("the other server: %q, %v", got, err)
	}
}

func TestToolsOfAServerOnHTTP(t *testing.T) {
	t.Parallel()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return testServer() }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	s := connected(t, map[string]Server{"web": {URL: web.URL, Headers: map[string]string{"Authorization": "Bearer t"}}},
		t.TempDir())
	if got, err := named(t, s, "mcp__web__echo").Run(t.Context(), []byte(`{"text":"hi"}`)); got != "you said hi" ||
		err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	_, err := Connect(t.Context(), Config{Servers: map[string]Server{"web": {URL: web.URL}}}, Options{Dir: t.TempDir()})
	if err == nil || protocol.CodeOf(err) != protocol.CodeBadGateway {
		t.Errorf("without its header: %v", err)
	}
}

func TestConnectFailsIfOneServerFails(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]Server{
		"no such program":                     {Command: "/no/such/program"},
		"a program that ends":                 {Command: "/bin/sh", Args: []string{"-c", "echo not today >&2"}},
		"an address that refuses connections": {URL: "http://127.0.0.1:1/mcp"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Connect(t.Context(), Config{Servers: map[string]Server{"good": self(t), "bad": bad}},
				Options{Dir: t.TempDir()})
			if protocol.CodeOf(err) != protocol.CodeBadGateway || !strings.HasPrefix(err.Error(), "The MCP server bad ") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	good := `{"mcpServers":{"a":{"command":"x","args":["1"],"env":{"K":"v"}},"b":{"url":"https://h/mcp","headers":{"A":"b"}}},"other":1}`
	if c, err := Parse([]byte(good)); err != nil || len(c.Servers) != 2 || c.Servers["a"].Args[0] != "1" ||
		c.Servers["b"].Headers["A"] != "b" {
		t.Errorf("got %+v, %v", c, err)
	}
	for raw, want := range map[string]string{
		`{"mcpServers":{"a":{}}}`:                               "give either command or url",
		`{"mcpServers":{"a":{"command":"x","url":"http://h"}}}`: "give either command or url",
		`{"mcpServers":{"a b":{"command":"x"}}}`: "a name is up to 32 letters, digits, dots, dashes " +
			"and underscores",
		`{"mcpServers":{"a":{"url":"ftp://h"}}}`:                   "url must be an http or https URL",
		`{"mcpServers":{"a":{"url":"http://h","args":["x"]}}}`:     "args and env belong to command",
		`{"mcpServers":{"a":{"command":"x","headers":{"A":"b"}}}}`: "headers belong to url",
	} {
		_, err := Parse([]byte(raw))
		var e *protocol.Error
		if !errors.As(err, &e) || e.Hint != "In mcpServers: "+want {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if _, err := Parse([]byte(`{"mcpServers":[]}`)); protocol.CodeOf(err) != protocol.CodeInvalid {
		t.Errorf("a list: %v", err)
	}
}

func TestToolNamesAreShortAndDistinct(t *testing.T) {
	t.Parallel()
	taken := map[string]bool{}
	for _, tool := range []string{"a.b", "a_b", "a b", strings.Repeat("x", 90), strings.Repeat("x", 91)} {
		name := toolName("s", tool, taken)
		if taken[name] || len(name) > maxName || unusual.MatchString(name) {
			t.Errorf("%s became %s", tool, name)
		}
		taken[name] = true
	}
}
