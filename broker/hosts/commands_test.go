package hosts_test

import (
	"net/http"
	"testing"

	"bellhop/broker/hosts"
	"bellhop/protocol"
)

func TestOnlyAHostListsCommands(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host http.HandlerFunc
		want protocol.Code
	}{
		"a host":       {answering(200, `{"commands":[{"name":"review"}]}`), ""},
		"a gateway":    {answering(200, `{"success":true}`), protocol.CodeBadGateway},
		"a basic host": {answering(404, `no such page`), protocol.CodeMethodNotAllowed},
		"a host that lost the session": {
			answering(404, `{"error":"Session not found","code":"not_found"}`), protocol.CodeNotFound,
		},
		"a host that fails in another form": {answering(500, `oops`), protocol.CodeBadGateway},
	} {
		t.Run(name, func(t *testing.T) {
			var asked string
			to := target(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.Method + " " + r.RequestURI
				c.host(w, r)
			})), password)
			list, err := newClient(t, hosts.Options{}).SessionCommands(t.Context(), to, "s1")
			if protocol.CodeOf(err) != c.want || err == nil && len(list.Commands) != 1 {
				t.Errorf("%+v, %v, want %q", list, err, c.want)
			}
			if asked != "GET /session/s1/commands" {
				t.Errorf("asked %s", asked)
			}
		})
	}
}
