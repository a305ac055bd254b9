package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bellhop/crypto/seal"
)

// runBridge sends lines through a bridge to a server and returns the output.
func runBridge(t *testing.T, handler http.HandlerFunc, lines ...string) string {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	var out bytes.Buffer
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	b := &bridge{url: server.URL + "/mcp", token: seal.NewSecret("bhp_x"), out: &out, http: client}
	if err := b.run(context.Background(), strings.NewReader(strings.Join(lines, "\n"))); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

func TestTheBridgeForwardsMessagesUnchanged(t *testing.T) {
	var versions []string
	got := runBridge(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer bhp_x" || r.URL.Path != "/mcp" {
			t.Errorf("%s with %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		versions = append(versions, r.Header.Get("Mcp-Protocol-Version"))
		if strings.Contains(string(body), "notifications/") {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		_, _ = io.WriteString(w,
			"{\"jsonrpc\":\"2.0\",\n \"id\":1,\"result\":{\"protocolVersion\":\"2025-06-18\",\"x\":\"<&>\"}}\n")
	}, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, ``, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if want := `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","x":"<&>"}}`; got != want {
		t.Errorf("got %s", got)
	}
	if len(versions) != 2 || versions[0] != "" || versions[1] != "2025-06-18" {
		t.Errorf("versions %q", versions)
	}
}

func TestTheBridgeReportsServerErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		server http.HandlerFunc
		line   string
		want   string
	}{
		{
			"a refusal", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = io.WriteString(w, `{"error":"Unauthorized","code":"unauthorized","hint":"Make a token"}`)
			}, `{"id":"a","method":"tools/list"}`,
			`{"error":{"code":-32603,"message":"the broker answered 401: Unauthorized (Make a token)"},"id":"a","jsonrpc":"2.0"}`,
		},
		{
			"a page", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadGateway)
				_, _ = io.WriteString(w, "bad gateway\n")
			}, `{"id":2,"method":"tools/list"}`,
			`{"error":{"code":-32603,"message":"the broker answered 502: bad gateway"},"id":2,"jsonrpc":"2.0"}`,
		},
		{
			"a refused message", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-32600,"message":"x <y>"}}`)
			}, `{"jsonrpc":"1.0","id":9007199254740993,"method":"ping"}`,
			`{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-32600,"message":"x <y>"}}`,
		},
		{
			"a line that is no message", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`)
			}, `{"jsonrpc":`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`,
		},
		{
			"a failure with an exact id", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadGateway)
			}, `{"jsonrpc":"2.0","id":"<18446744073709551615>","method":"ping"}`,
			`{"error":{"code":-32603,"message":"the broker answered 502: "},"id":"<18446744073709551615>","jsonrpc":"2.0"}`,
		},
		{
			"half an answer", func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0",`)
			}, `{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}`,
			`{"error":{"code":-32603,"message":"the broker's answer is no message, or is too large"},` +
				`"id":18446744073709551615,"jsonrpc":"2.0"}`,
		},
		{"a refused notification", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
		}, `{"method":"notifications/x"}`, ``},
		{
			"a message without end", nil, `{"id":1,"x":"` + strings.Repeat("x", maxMCPMessage) + `"}`,
			`{"error":{"code":-32700,"message":"the message is larger than 4194304 bytes"},"id":null,"jsonrpc":"2.0"}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := runBridge(t, c.server, c.line); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
