package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestThePythonModulesAreFresh(t *testing.T) {
	t.Parallel()
	for _, pair := range pairs {
		want, err := Generate("../../" + pair[0])
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile("../../" + pair[1])
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is stale: run go generate ./internal/pygen", pair[1])
		}
	}
}

func TestNamesInPython(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"agentSessionId": "agent_session_id", "agentUrl": "agent_url", "getOpenAPIAsJSON": "get_open_api_as_json",
		"from": "from_", "q": "q", "session_id": "session_id",
	} {
		if got := snake(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
