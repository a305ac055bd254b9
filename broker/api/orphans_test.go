package api_test

import (
	"strings"
	"testing"
)

func TestOnlyAdministratorsSeeAndAdoptOrphans(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	created := s.as(s.admin, "POST", "/api/hosts",
		`{"name":"first","url":"http://agents.example","password":"`+agentPassword+`"}`)
	hostID := field(t, created, "id")
	const forbidden = `{"error":"Only administrators manage hosts","code":"forbidden"}`
	adopt := `{"hostId":"` + hostID + `","email":"ada@example.com"}`
	want(t, s.as(s.ada, "GET", "/api/orphans", ""), 403, forbidden)
	want(t, s.as(s.ada, "POST", "/api/orphans/orphan", adopt), 403, forbidden)

	if listed := s.as(s.admin, "GET", "/api/orphans", ""); listed.Code != 200 ||
		!strings.Contains(listed.Body.String(), `"hostName":"first"`) {
		t.Errorf("%d %s", listed.Code, listed.Body)
	}
	adopted := s.as(s.admin, "POST", "/api/orphans/orphan", adopt)
	if adopted.Code != 201 || field(t, adopted, "id") != "orphan" || field(t, adopted, "title") != "Lost" {
		t.Errorf("%d %s", adopted.Code, adopted.Body)
	}
	if got := s.as(s.ada, "GET", "/api/tasks/orphan", ""); got.Code != 200 {
		t.Errorf("ada's task: %d %s", got.Code, got.Body)
	}
}
