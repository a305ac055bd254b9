package model

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bellhop/agent"
	"bellhop/protocol"
)

// sent is a request as a file of testdata/requests has it.
type sent struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Body    any               `json:"body"`
}

// transport answers every request by a function.
type transport func(*http.Request) *http.Response

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r), nil }

// answer returns a response of a provider.
func answer(status int, header http.Header, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}
}

// requested returns the request that a model makes, and its body.
func requested(
	t *testing.T, model string, o Options, conversation []agent.Message, tools []agent.ToolSpec,
) (r *http.Request, body []byte) {
	t.Helper()
	o.Client = &http.Client{Transport: transport(func(hr *http.Request) *http.Response {
		r = hr
		body, _ = io.ReadAll(hr.Body) // a buffer in memory
		return answer(http.StatusBadRequest, http.Header{}, `{}`)
	})}
	m, err := Open(model, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range m.Complete(t.Context(), conversation, tools) {
	}
	if r == nil {
		t.Fatal("no request: ", err)
	}
	return r, body
}

// The files were recorded from version 1.84.0 of anthropic-sdk-go and version 3.94.0 of openai-go, the
// vendors' SDKs, which the package used before. Providers take these requests, so a difference to
// a file is a mistake unless it was intended.
func TestRequestsEqualThoseOfTheVendorsSDKs(t *testing.T) {
	t.Parallel()
	for name, c := range recorded() {
		for _, provider := range []string{"anthropic", "openai"} {
			file := filepath.Join("testdata", "requests", name+"."+provider+".json")
			t.Run(name+" "+provider, func(t *testing.T) {
				r, body := requested(t, provider+"/mock-1", c.opts, c.conversation, c.tools)
				got := sent{Method: r.Method, URL: r.URL.String(), Headers: map[string]string{}}
				for _, h := range []string{"Authorization", "Anthropic-Version", "Content-Type", "X-Api-Key"} {
					if list := r.Header.Values(h); len(list) > 0 {
						got.Headers[h] = strings.Join(list, ", ")
					}
				}
				if err := json.Unmarshal(body, &got.Body); err != nil {
					t.Fatal(err)
				}
				raw, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				var want sent
				if err := json.Unmarshal(raw, &want); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("sent %s\nwant %s", indented(t, got), raw)
				}
			})
		}
	}
}

func indented(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The file was recorded like those of testdata/requests: the address of a request by the base URL.
func TestAddressesEqualThoseOfTheVendorsSDKs(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("testdata", "addresses.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]map[string]string
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) != len(Providers()) {
		t.Fatal(want)
	}
	for provider, addresses := range want {
		for base, address := range addresses {
			r, _ := requested(t, provider+"/mock-1", Options{BaseURL: base, Key: key}, []agent.Message{prompt("hi")}, nil)
			if r.URL.String() != address {
				t.Errorf("%s at %q: %s instead of %s", provider, base, r.URL, address)
			}
		}
	}
}

type request struct {
	opts         Options
	conversation []agent.Message
	tools        []agent.ToolSpec
}

// recorded returns the requests of testdata/requests by the name of their file.
func recorded() map[string]request {
	own := Options{BaseURL: "http://127.0.0.1:8000/v1", Key: key}
	user := func(text string, attachments ...protocol.Attachment) agent.Message {
		return agent.Message{Role: agent.RoleUser, Text: text, Attachments: attachments}
	}
	result := func(id, text string, outcome agent.Outcome) agent.Message {
		return agent.Message{Role: agent.RoleTool, CallID: id, Text: text, Outcome: outcome}
	}
	system := func(text string) agent.Message { return agent.Message{Role: agent.RoleSystem, Text: text} }
	reply := func(text string, calls ...agent.ToolCall) agent.Message {
		return agent.Message{Role: agent.RoleAssistant, Text: text, Calls: calls}
	}
	return map[string]request{
		"plain": {
			Options{BaseURL: "http://127.0.0.1:8000", MaxTokens: 1000}, []agent.Message{user("hello")}, nil,
		},
		"default-address": {Options{Key: key}, []agent.Message{user("hello")}, tools()},
		"conversation": {own, []agent.Message{
			system("Be brief.\nUse <b>tools</b> & \u2028 \"quotes\"."),
			user("look", image("image/png"), pdf(), document("text/plain", "some text")),
			reply("I read.", called("c1", "read_file", `{"path":"a.txt"}`), called("c2", "write_file", `{}`)),
			result("c1", "first", agent.OutcomeDone),
			result("c2", "Denied by the user.", agent.OutcomeDenied),
			user("go on"), reply("Done."), user("thanks"), user("bye"),
		}, append(schemas(), tools()...)},
		"attachments": {own, []agent.Message{
			user("all", image("image/jpeg"), image("image/gif"), image("image/webp"), image(""), pdf()),
			user("", document("text/markdown; charset=utf-8", "# ü\n"), document("text/csv", ""), document("", "plain")),
			reply("ok"),
			user(" ", pdf(), protocol.Attachment{Type: protocol.AttachmentDocument, MediaType: "text/plain", Data: "%"}),
		}, nil},
		"arguments": {own, []agent.Message{
			user("call"),
			reply("",
				called("c1", "run_command", `{"command":"a && b > \"c\" </dev/null","n":12345678901234567890,"f":1.50,"z":null}`),
				called("c2", "run_command", ` { "deep": [ { "a": [ [], {}, "\u00fc\u2028" ] } ], "": false } `),
				called("c3", "write_file", `{"content":"line\r\n\ttab \u0000 \ud83d\ude00","path":"ü/\\x"}`)),
			result("c1", "", agent.OutcomeDone),
			result("c2", "no such file", agent.OutcomeError),
			result("c3", " \n", agent.OutcomeDone),
			result("c3", "", agent.OutcomeDenied),
		}, nil},
		"blank": {own, []agent.Message{
			system(""), system("second"), user(" \n\t"), user(""), reply(""), reply("  ", called("c1", "run_command", `{}`)),
			result("c1", "", agent.OutcomeDone), reply(" "), user("x"),
		}, nil},
		"nothing": {own, nil, nil},
		"tools":   {own, []agent.Message{user("use")}, schemas()},
	}
}

func called(id, name, arguments string) agent.ToolCall {
	return agent.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

func image(mediaType string) protocol.Attachment {
	return protocol.Attachment{Type: protocol.AttachmentImage, MediaType: mediaType, Name: "i.png", Data: "iVBORw0KGgo="}
}

func pdf() protocol.Attachment {
	return protocol.Attachment{Type: protocol.AttachmentDocument, MediaType: protocol.MediaPDF, Data: "JVBERi0xLjQ="}
}

func document(mediaType, text string) protocol.Attachment {
	return protocol.Attachment{
		Type: protocol.AttachmentDocument, MediaType: mediaType, Name: "d.txt",
		Data: base64.StdEncoding.EncodeToString([]byte(text)),
	}
}

// schemas returns a tool per kind of schema.
func schemas() []agent.ToolSpec {
	var list []agent.ToolSpec
	for _, t := range []struct{ name, schema string }{
		{"nested", `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"array","items":` +
			`{"enum":["<x>",1,null,true]}}},"required":["b"]}},"required":["a"],"additionalProperties":false}`},
		{"more", `{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"T","type":"object","$defs":` +
			`{"d":{"type":"integer","maximum":9007199254740991}},"properties":{"x":{"$ref":"#/$defs/d"}},"oneOf":[{},{"required":["x"]}]}`},
		{"no_properties", `{"type":"object"}`},
		{"empty_properties", `{"type":"object","properties":{},"required":[]}`},
		{"other_type", `{"type":"string","description":"d"}`},
		{"null_members", `{"properties":null,"required":null,"x":null}`},
		{"bad_required", `{"type":"object","properties":{"a":{}},"required":"a"}`},
		{"bad_properties", `{"type":"object","properties":[1],"required":["a"]}`},
		{"empty", `{}`},
		{"none", ``},
		{"null", `null`},
		{"list", `[1]`},
		{"broken", `{"type":`},
	} {
		schema := json.RawMessage(t.schema)
		list = append(list, agent.ToolSpec{Name: t.name, Description: "Is " + t.name + ".", Schema: schema})
	}
	return append(list, agent.ToolSpec{Name: "no_description", Schema: json.RawMessage(`{"type":"object"}`)})
}
