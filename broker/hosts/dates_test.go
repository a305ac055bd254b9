package hosts_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/hosts"
	"bellhop/protocol"
)

// The clock of a registered host on another machine is a second one. That of this machine is not, and users' own URLs may
// say anything.
func TestTheTimeOfOtherMachinesIsKnown(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(protocol.HeaderRequest, r.Header.Get(protocol.HeaderRequest))
		w.Header().Set("Date", at.Format(http.TimeFormat))
		_, _ = w.Write([]byte(`{"sessionId":"s"}`))
	}))
	t.Cleanup(server.Close)
	everywhere := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}}
	t.Cleanup(everywhere.CloseIdleConnections)
	for _, c := range []struct {
		rule   string
		target broker.Target
		want   bool
	}{
		{"another machine", broker.Target{URL: "http://host.example:7701"}, true},
		{"this machine", broker.Target{URL: "http://localhost:7701"}, false},
		{"this machine by its address", broker.Target{URL: "http://[::1]:7701"}, false},
		{"a user's URL", broker.Target{URL: "http://host.example:7701", Guarded: true}, false},
	} {
		var got []time.Time
		client := hosts.New(hosts.Options{
			HTTP: everywhere, Guarded: everywhere, Dates: func(at time.Time) { got = append(got, at) },
		})
		if _, err := client.Session(t.Context(), c.target, "s"); err != nil {
			t.Fatal(err)
		}
		if len(got) > 0 != c.want || c.want && !got[0].Equal(at) {
			t.Errorf("%s: told %v", c.rule, got)
		}
	}
}
