package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	Name string `json:"name" jsonschema:"who is greeted"`
}

type answer struct {
	Text string `json:"text"`
}

// maxBody is the limit of the test's server, in bytes.
const maxBody = 1 << 10

// sender sends a request to a server.
type sender func(method, body string) *http.Response

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
	e.POST("/mcp", server.Handle)
	e.GET("/mcp", mcpserver.NoStream)
	return func(method, body string) *http.Response {
		req := httptest.NewRequestWithContext(t.Context(), method, "/mcp", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
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

func TestBodiesAreCheckedStrictly(t *testing.T) {
	t.Parallel()
	send, _ := serve(t, polite)
	batch := ` [{"jsonrpc":"2.0","id":1,"method":"ping"}]`
	for name, tt := range map[string]struct {
		body   string
		status int
		want   string
	}{
		"a batch":            {batch, http.StatusBadRequest, "batches are not supported"},
		"a member twice":     {`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, http.StatusBadRequest, "id"},
		"no JSON":            {`{`, http.StatusBadRequest, "JSON"},
		"more than the most": {`{"x":"` + strings.Repeat("x", maxBody) + `"}`, http.StatusRequestEntityTooLarge, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			resp := send(http.MethodPost, tt.body)
			var got protocol.ErrorBody
			if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != tt.status || !strings.Contains(got.Error, tt.want) {
				t.Errorf("%s %+v, want %d and %q", resp.Status, got, tt.status, tt.want)
			}
		})
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
