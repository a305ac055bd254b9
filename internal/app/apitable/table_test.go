package apitable

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"bellhop/internal/apidoc"
	"bellhop/internal/httpapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const root = "../../.."

func TestTheDocumentsAreFresh(t *testing.T) {
	t.Parallel()
	documents, err := Documents(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range documents {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale at %q: run go generate ./internal/app/apitable", name, firstDifference(got, want))
		}
	}
}

// firstDifference is the first line of want that got lacks at its place.
func firstDifference(got, want []byte) string {
	have := strings.Split(string(got), "\n")
	for i, line := range strings.Split(string(want), "\n") {
		if i >= len(have) || have[i] != line {
			return line
		}
	}
	return "the end"
}

// An engineer who adds a route learns from the error what to add, and where.
func TestARouteWithoutARowIsNamedWithTheRowToAdd(t *testing.T) {
	t.Parallel()
	endpoints := []httpapi.Endpoint{
		{Method: "GET", Path: "/a"}, {Method: "PUT", Path: "/b/:id"}, {Method: "GET", Path: "/c"},
	}
	bySession := func(string) []apidoc.Requirement { return nil }
	_, err := join(endpoints, map[string]row{"GET /c": op("c", "t", "C")}, bySession)
	want := "routes without a row: add these to the table in internal/app/apitable, then run make generate:\n" +
		"\t\"GET /a\": op(\"uniqueId\", \"tag\", \"Summary\", codes...),\n" +
		"\t\"PUT /b/:id\": op(\"uniqueId\", \"tag\", \"Summary\", codes...),"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = join(endpoints[2:], map[string]row{"GET /c": {}, "GET /old": {}}, bySession)
	want = "the table in internal/app/apitable has rows for routes that no server registers: GET /old"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
