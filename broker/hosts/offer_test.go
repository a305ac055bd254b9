package hosts_test

import (
	"net/http"
	"testing"

	"bellhop/broker/hosts"
	"bellhop/protocol"
)

func TestOnlyAHostMakesAnOffer(t *testing.T) {
	for name, c := range map[string]struct {
		host http.HandlerFunc
		want protocol.Code
	}{
		"a host":                    {answering(200, `{"defaultAgent":"demo","agents":[],"projects":[]}`), ""},
		"a gateway":                 {answering(200, `{"success":true}`), protocol.CodeBadGateway},
		"a gateway's page":          {answering(200, `<html>`), protocol.CodeBadGateway},
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
			offer, err := newClient(t, hosts.Options{}).Offer(t.Context(), target(serve(t, c.host), password))
			if c.want != "" && protocol.CodeOf(err) != c.want || c.want == "" && (err != nil || offer.DefaultAgent != "demo") {
				t.Errorf("%+v, %v, want %q", offer, err, c.want)
			}
		})
	}
}
