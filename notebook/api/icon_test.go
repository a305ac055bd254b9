package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bellhop/notebook"
)

type images struct{}

func (images) Icon(_ context.Context, url string) (*notebook.Icon, error) {
	return &notebook.Icon{Data: []byte(url), Type: "image/png", Digest: "d"}, nil
}

// A browser gets the image from the broker, and cannot take it for a page or a script.
func TestTheImageOfAnAgentIsServedAsAnImage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	rec := s.do(who{s.ada, "ada"}, "POST", "/api/coding-agent/notebooks",
		`{"agentName":"Ada","agentIdentifier":"ada","agentIcon":"https://icons.example/a.png"}`)
	path := "/api/agent-sessions/" + pick(t, rec, "agentSession.id") + "/icon"
	rec = s.do(who{user: s.ada}, "GET", path, "")
	if rec.Code != 200 || rec.Body.String() != "https://icons.example/a.png" {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	for name, want := range map[string]string{
		"Content-Type": "image/png", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "default-src 'none'; sandbox", "Cache-Control": "private, max-age=3600",
		"Cross-Origin-Resource-Policy": "same-origin", "ETag": `"d"`,
	} {
		if got := rec.Header().Get(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	r := httptest.NewRequest(http.MethodGet, path, strings.NewReader(""))
	r.Header.Set("X-User", s.ada)
	r.Header.Set("If-None-Match", `"d"`)
	again := httptest.NewRecorder()
	if s.echo.ServeHTTP(again, r); again.Code != 304 || again.Body.Len() != 0 {
		t.Errorf("%d %s", again.Code, again.Body)
	}
	if rec := s.do(who{s.ada, "ada"}, "GET", path, ""); rec.Code != 403 {
		t.Errorf("an agent got %d", rec.Code)
	}
}
