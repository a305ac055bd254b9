package hosts_test

import (
	"net/http"
	"testing"

	"github.com/coder/websocket"

	"bellhop/broker/hosts"
	"bellhop/protocol"
)

func TestShellConnectsWithThePasswordThatTheHostAccepts(t *testing.T) {
	t.Parallel()
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.URL.Path != "/session/s1/shell" || r.Header.Get(protocol.HeaderTerminalOrigin) != "https://console.example" ||
			r.Header.Get("Origin") != "" {
			t.Errorf("%s %v", r.URL.Path, r.Header)
		}
		w.Header().Set(protocol.HeaderTerminalURL, "https://host.example/session/s1/shell/direct")
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{protocol.TerminalProtocol}})
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Write(r.Context(), websocket.MessageBinary, []byte("output"))
		_, _, _ = conn.Read(r.Context())
	}))
	client := newClient(t, hosts.Options{})
	conn, err := client.Shell(t.Context(), target(url, "an earlier one", password), "s1", "https://console.example")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	binary, message, err := conn.Read(t.Context())
	if err != nil || !binary || string(message) != "output" {
		t.Errorf("%v %q %v", binary, message, err)
	}
	if conn.Direct() != "https://host.example/session/s1/shell/direct" {
		t.Errorf("the page's URL is %q", conn.Direct())
	}
}

func TestShellRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		body   string
		code   protocol.Code
	}{
		{"a wrong password", 401, `{"error":"Unauthorized","code":"unauthorized"}`, protocol.CodeBadGateway},
		{"a host that knows no terminals", 404, `{"message":"Not Found"}`, protocol.CodeMethodNotAllowed},
		{
			"a host that opens none", 405, `{"error":"The host opens no terminals","code":"method_not_allowed"}`,
			protocol.CodeMethodNotAllowed,
		},
		{"another key", 403, `{"error":"Wrong key","code":"session_key"}`, protocol.CodeBadGateway},
		{"a server that speaks no WebSocket", 200, `hello`, protocol.CodeBadGateway},
		{"a broken host", 500, password, protocol.CodeBadGateway},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := serve(t, answering(c.status, c.body))
			_, err := newClient(t, hosts.Options{}).Shell(t.Context(), target(url, password), "s1", "https://console.example")
			if protocol.CodeOf(err) != c.code {
				t.Errorf("%v, code %q", err, protocol.CodeOf(err))
			}
		})
	}
	guarded := target("http://127.0.0.1:1", password)
	guarded.Guarded = true
	if _, err := newClient(t, hosts.Options{}).Shell(t.Context(), guarded, "s1", ""); err == nil {
		t.Error("without a guard for users' URLs there is a connection")
	}
}
