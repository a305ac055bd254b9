package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"bellhop/protocol"
)

func TestATokenForAForgeIsNeverShownAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ada, bob := s.signedIn(s.admin), s.signedIn(s.person("bob@example.org", false))
	const canary = "canary-forge-token"
	rec := s.as(nil, "POST", "/api/forge-tokens", `{"forge":"github.com","token":"`+canary+`"}`, ada...)
	var added protocol.ForgeToken
	if err := json.Unmarshal(rec.Body.Bytes(), &added); err != nil || rec.Code != 201 || added.ID == "" {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	for what, body := range map[string]string{
		"added":  rec.Body.String(),
		"listed": s.as(nil, "GET", "/api/forge-tokens", "", ada...).Body.String(),
	} {
		if !strings.Contains(body, `"forge":"github.com","kind":"github"`) || strings.Contains(body, canary) {
			t.Errorf("%s: %s", what, body)
		}
	}
	want(t, s.as(nil, "GET", "/api/forge-tokens", "", bob...), 200, `{"tokens":[]}`)
	want(t, s.as(nil, "DELETE", "/api/forge-tokens/"+added.ID, "", bob...), 404,
		`{"error":"Token not found","code":"not_found"}`)
	rec = s.as(nil, "POST", "/api/forge-tokens", `{"forge":"git.example.org","token":"x"}`, ada...)
	want(t, rec, 400, `{"error":"kind is required for this forge","code":"invalid","hint":"It is github, gitlab or gitea"}`)
	want(t, s.as(nil, "DELETE", "/api/forge-tokens/"+added.ID, "", ada...), 200, `{"success":true}`)
	want(t, s.as(nil, "GET", "/api/forge-tokens", "", ada...), 200, `{"tokens":[]}`)
}
