package hosts_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"bellhop/broker"
	"bellhop/broker/hosts"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// Only an answer that repeats the request's name says which life serves at an address.
func TestALifeIsTakenFromTheHostsOwnAnswer(t *testing.T) {
	t.Parallel()
	life := protocol.NewLife("h", "")
	for name, c := range map[string]struct {
		answer func(header http.Header, request string) int
		known  bool
	}{
		"a host": {func(h http.Header, request string) int {
			h.Set(protocol.HeaderRequest, request)
			h.Set(protocol.HeaderLife, life.Short())
			return http.StatusOK
		}, true},
		"a host without descriptors": {func(h http.Header, request string) int {
			h.Set(protocol.HeaderRequest, request)
			h.Set(protocol.HeaderLife, life.Short())
			return http.StatusServiceUnavailable
		}, true},
		"a host of before": {func(h http.Header, request string) int {
			h.Set(protocol.HeaderRequest, request)
			return http.StatusOK
		}, false},
		"a gateway that repeats an answer": {func(h http.Header, _ string) int {
			h.Set(protocol.HeaderRequest, "another")
			h.Set(protocol.HeaderLife, life.Short())
			return http.StatusOK
		}, false},
		"a portal": {func(http.Header, string) int { return http.StatusOK }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "" {
					t.Error("the password is sent")
				}
				w.WriteHeader(c.answer(w.Header(), r.Header.Get(protocol.HeaderRequest)))
			}))
			defer server.Close()
			var seen []protocol.Life
			client := hosts.New(hosts.Options{Lives: func(_ context.Context, url string, l protocol.Life) {
				if url != server.URL {
					t.Errorf("seen at %s", url)
				}
				seen = append(seen, l)
			}})
			defer client.CloseIdleConnections()
			got, err := client.Life(t.Context(), broker.Target{URL: server.URL, Passwords: []seal.Secret{seal.NewSecret("p")}})
			if c.known != (err == nil) || c.known != (got == life) || c.known != (len(seen) == 1) {
				t.Errorf("%+v, %v, seen %v", got, err, seen)
			}
			if _, _, err := client.Ready(t.Context(), broker.Target{URL: server.URL}); c.known && len(seen) != 2 {
				t.Errorf("the probe of /readyz shows no life: %v, %v", seen, err)
			}
			if !c.known && errors.Is(err, broker.ErrDoubtful) == (name == "a host of before") {
				t.Errorf("%v", err)
			}
		})
	}
}
