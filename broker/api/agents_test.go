package api_test

import "testing"

func TestEveryUserSeesTheAgentsToChooseFrom(t *testing.T) {
	s := newSite(t)
	want(t, s.as(s.ada, "GET", "/api/agents", ""), 200, `{"agents":[{"id":"demo","title":"Demo agent"}]}`)
}
