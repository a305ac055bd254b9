package hosts_test

import (
	"net/http"
	"testing"

	"bellhop/broker/hosts"
	"bellhop/protocol"
)

func TestOnlyAHostTakesAnnouncementsAndRevocations(t *testing.T) {
	t.Parallel()
	const away = protocol.CodeBadGateway
	for name, c := range map[string]struct {
		host             http.HandlerFunc
		announce, revoke protocol.Code
	}{
		"a host":                    {answering(200, `{"success":true,"brokerId":"b"}`), "", ""},
		"a gateway":                 {answering(200, `{"success":true}`), away, away},
		"a gateway's page":          {answering(200, `<html>`), away, away},
		"a host for another broker": {answering(200, `{"success":true,"brokerId":"c"}`), away, away},
		// Credentials are revoked only at hosts that announced them: a gateway answers in the host's place.
		"a basic host, or a gateway": {answering(404, `no such page`), protocol.CodeNotFound, away},
		"a basic host with a guard":  {answering(401, ``), protocol.CodeNotFound, away},
		"a host without the route": {
			answering(404, `{"error":"Not found","code":"not_found"}`), protocol.CodeNotFound, protocol.CodeNotFound,
		},
		"a host that refuses the password": {
			answering(401, `{"error":"no","code":"unauthorized"}`), away, away,
		},
		"a host that fails": {answering(500, `{"error":"Internal error","code":"internal"}`), away, away},
	} {
		t.Run(name, func(t *testing.T) {
			client, at := newClient(t, hosts.Options{}), target(serve(t, c.host), password)
			err := client.Announce(t.Context(), at, &protocol.HostAnnouncements{BrokerID: "b"})
			if got := protocol.CodeOf(err); got != c.announce {
				t.Errorf("announce: %v, want %q", err, c.announce)
			}
			err = client.RevokeCredentials(t.Context(), at, &protocol.RevokeRequest{BrokerID: "b", Credentials: []string{"x"}})
			if got := protocol.CodeOf(err); got != c.revoke {
				t.Errorf("revoke: %v, want %q", err, c.revoke)
			}
		})
	}
}

func TestOnlyABasicHostCannotRevoke(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		events bool
		want   protocol.Code
	}{
		"a basic host":              {404, false, protocol.CodeMethodNotAllowed},
		"a basic host with a guard": {401, false, protocol.CodeMethodNotAllowed},
		"a gateway without a route": {404, true, protocol.CodeBadGateway},
		"a gateway with a guard":    {401, true, protocol.CodeBadGateway},
	} {
		t.Run(name, func(t *testing.T) {
			at := target(serve(t, answering(c.status, "")), password)
			at.Events = c.events
			if err := newClient(t, hosts.Options{}).Revoke(t.Context(), at, "s"); protocol.CodeOf(err) != c.want {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
