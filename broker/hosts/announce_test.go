package hosts_test

import (
	"net/http"
	"testing"

	"bellhop/broker/hosts"
	"bellhop/protocol"
)

func TestOnlyAHostTakesAnnouncementsAndRevocations(t *testing.T) {
	for name, c := range map[string]struct {
		host http.HandlerFunc
		want protocol.Code
	}{
		"a host":                    {answering(200, `{"success":true,"brokerId":"b"}`), ""},
		"a gateway":                 {answering(200, `{"success":true}`), protocol.CodeBadGateway},
		"a gateway's page":          {answering(200, `<html>`), protocol.CodeBadGateway},
		"a host for another broker": {answering(200, `{"success":true,"brokerId":"c"}`), protocol.CodeBadGateway},
		"a basic host":              {answering(404, `no such page`), protocol.CodeNotFound},
		"a basic host with a guard": {answering(401, ``), protocol.CodeNotFound},
		"a host of an earlier version": {
			answering(404, `{"error":"Not found","code":"not_found"}`), protocol.CodeNotFound,
		},
		"a host that refuses the password": {answering(401, `{"error":"no","code":"unauthorized"}`), protocol.CodeBadGateway},
		"a host that fails": {
			answering(500, `{"error":"Internal error","code":"internal"}`), protocol.CodeBadGateway,
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, at := newClient(t, hosts.Options{}), target(serve(t, c.host), password)
			for _, err := range []error{
				client.Announce(t.Context(), at, &protocol.HostAnnouncements{BrokerID: "b"}),
				client.RevokeCredentials(t.Context(), at, &protocol.RevokeRequest{BrokerID: "b", Credentials: []string{"x"}}),
			} {
				if got := protocol.CodeOf(err); err == nil && c.want != "" || err != nil && got != c.want {
					t.Errorf("%v, want %q", err, c.want)
				}
			}
		})
	}
}
