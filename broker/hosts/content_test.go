package hosts_test

import (
	"io"
	"net/http"
	"slices"
	"testing"

	"bellhop/broker/hosts"
	"bellhop/protocol"
)

func TestOnlyAHostShowsFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host http.HandlerFunc
		want protocol.Code
	}{
		"a host":       {answering(200, `{"entries":[],"kind":"text","matches":[]}`), ""},
		"a gateway":    {answering(200, `{"success":true}`), protocol.CodeBadGateway},
		"a page":       {answering(200, `<html>`), protocol.CodeBadGateway},
		"a basic host": {answering(404, `no such page`), protocol.CodeMethodNotAllowed},
		"a host that shows none": {
			answering(405, `{"error":"no","code":"method_not_allowed"}`), protocol.CodeMethodNotAllowed,
		},
		"a file that is gone": {answering(410, `{"error":"gone","code":"gone"}`), protocol.CodeGone},
		"a link":              {answering(409, `{"error":"a link","code":"conflict"}`), protocol.CodeConflict},
	} {
		t.Run(name, func(t *testing.T) {
			client, to := newClient(t, hosts.Options{}), target(serve(t, c.host), password)
			_, errList := client.Directory(t.Context(), to, "s1", "src", "")
			_, errFile := client.File(t.Context(), to, "s1", "README", 0)
			_, errSearch := client.SearchFiles(t.Context(), to, "s1", protocol.FileSearch{Query: "x"})
			for _, err := range []error{errList, errFile, errSearch} {
				if protocol.CodeOf(err) != c.want {
					t.Errorf("%v, want %q", err, c.want)
				}
			}
		})
	}
}

func TestAPathIsPartOfTheQuery(t *testing.T) {
	t.Parallel()
	var asked []string
	client := newClient(t, hosts.Options{})
	to := target(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.RequestURI)
		_, _ = io.WriteString(w, `{"entries":[],"kind":"text","matches":[]}`)
	})), password)
	_, _ = client.Directory(t.Context(), to, "s/1", "a&b?/..", "c d")
	_, _ = client.File(t.Context(), to, "s1", "a\nb", 7)
	_, _ = client.SearchFiles(t.Context(), to, "s1", protocol.FileSearch{Query: "a+b", Regexp: true})
	want := []string{
		"GET /session/s%2F1/files?after=c+d&path=a%26b%3F%2F..", "GET /session/s1/file?offset=7&path=a%0Ab",
		"GET /session/s1/search?case=false&q=a%2Bb&regexp=true",
	}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q", asked)
	}
}
