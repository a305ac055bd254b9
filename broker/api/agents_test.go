package api_test

import "testing"

func TestEveryUserSeesWhatTheHostsOffer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	want(t, s.as(s.ada, "GET", "/api/agents", ""), 200, `{"agents":[],"hosts":[]}`)
	want(t, s.as(s.admin, "POST", "/api/hosts", `{"name":"up","url":"`+agentURL+`","password":"`+agentPassword+`"}`), 201,
		`{"id":"<id1>","name":"up","url":"http://agents.example","health":"unknown","reach":"direct","openTurns":0,"createdAt":"+0s"}`)
	offer := `{"defaultAgent":"demo","agents":[{"id":"demo","title":"Demo agent","kind":"jsonl","installed":true,"models":[],"modes":[]}],` +
		`"projects":[],"permissionModes":["ask"]}`
	for _, caller := range []*person{s.ada, s.admin} {
		want(t, s.as(caller, "GET", "/api/agents", ""), 200,
			`{"agents":[{"id":"demo","title":"Demo agent","hostIds":["<id1>"]}],`+
				`"hosts":[{"hostId":"<id1>","name":"up","online":true,"offeredAt":"+0s","offer":`+offer+`}]}`)
	}
}
