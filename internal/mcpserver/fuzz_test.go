package mcpserver_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
)

// Whatever a client posts, the answer is JSON with a status of the protocol, and no panic.
func FuzzHandle(f *testing.F) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}`,
		`{"jsonrpc":"2.0","id":{},"method":"tools/call","params":[]}`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"1.0"}`, `null`, `[]`, `"x"`, ``, "\x00\xff",
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"greet","arguments":null}}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		send, _ := serve(t, polite)
		response := send(http.MethodPost, body)
		content, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode >= 500 {
			t.Errorf("%d %s", response.StatusCode, content)
		}
		if response.StatusCode == http.StatusOK && len(content) > 0 && !json.Valid(content) {
			t.Errorf("no JSON: %s", content)
		}
	})
}
