package api_test

import (
	"net/http"
	"testing"
)

func TestOnlyAdministratorsReadTheMetrics(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	want(t, s.as(s.ada, "GET", "/metrics", ""), 403, `{"error":"Only administrators read the metrics","code":"forbidden"}`)
	want(t, s.as(s.admin, "GET", "/metrics", ""), 404, `{"error":"Not found","code":"not_found"}`) // this site has none
	s.api.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = w.Write([]byte("up 1\n"))
	})
	if rec := s.as(s.admin, "GET", "/metrics", ""); rec.Code != 200 || rec.Body.String() != "up 1\n" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}
