package hosts_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"bellhop/broker/hosts"
	"bellhop/protocol"
)

func TestOnlyAHostMakesAnOffer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host http.HandlerFunc
		want protocol.Code
	}{
		"a host":                    {answering(200, `{"defaultAgent":"demo","agents":[],"projects":[]}`), ""},
		"a gateway":                 {answering(200, `{"success":true}`), protocol.CodeBadGateway},
		"a gateway's page":          {answering(200, `<html>`), protocol.CodeBadGateway},
		"a basic host":              {answering(404, `no such page`), protocol.CodeNotFound},
		"a basic host with a guard": {answering(401, ``), protocol.CodeNotFound},
		"a host without the route": {
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

// What a host says to every user has the limits of an announcement.
func TestNoticesOfAHostHaveTheLimitsOfAnnouncements(t *testing.T) {
	t.Parallel()
	notice := func(id, level, text string) protocol.HostNotice {
		return protocol.HostNotice{ID: id, Level: protocol.AnnouncementLevel(level), Text: text}
	}
	list := []protocol.HostNotice{
		notice("policy", "warning", "The policy is wrong"), notice("", "warning", "no id"), notice("a", "urgent", "no level"),
		notice("b", "info", ""), notice("c", "info", strings.Repeat("x", protocol.MaxAnnouncementText+1)),
		notice("d", "info", "a\u0007b"),
	}
	for n := range protocol.MaxAnnouncements {
		list = append(list, notice(fmt.Sprint("n", n), "info", "x"))
	}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, answering(200, `{"agents":[],"projects":[],"notices":`+string(raw)+`}`))
	offer, err := newClient(t, hosts.Options{}).Offer(t.Context(), target(url, password))
	if err != nil {
		t.Fatal(err)
	}
	if len(offer.Notices) != protocol.MaxAnnouncements || offer.Notices[0] != list[0] || offer.Notices[1].ID != "n0" {
		t.Errorf("%d notices: %+v", len(offer.Notices), offer.Notices)
	}
}

// Every user sees the level, so a host cannot put a page of text there.
func TestALevelThatNoHostHasIsLeftOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		level string
		want  bool
	}{
		"a host's":         {`{"state":"partial","network":"proxy","limits":["pids"],"open":["send to other machines"]}`, true},
		"an unknown state": {`{"state":"perfect","network":"proxy"}`, false},
		"a long network":   {`{"state":"full","network":"` + strings.Repeat("x", protocol.MaxSandboxText+1) + `"}`, false},
		"a line break":     {`{"state":"full","open":["a\nb"]}`, false},
		"too many entries": {`{"state":"full","open":["x"` + strings.Repeat(`,"x"`, protocol.MaxSandboxEntries) + `]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, answering(200, `{"agents":[],"projects":[],"sandbox":`+c.level+`}`))
			offer, err := newClient(t, hosts.Options{}).Offer(t.Context(), target(url, password))
			if err != nil || (offer.Sandbox != nil) != c.want {
				t.Errorf("%+v, %v", offer, err)
			}
		})
	}
}

// Consoles show the version on a line.
func TestAVersionThatNoHostHasIsLeftOut(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"":                  "",
		"v1.2.3-4-gabcdef0": "v1.2.3-4-gabcdef0",
		"v1\n2":             "",
		"v1\u202e2":         "",
		strings.Repeat("x", protocol.MaxHostVersion+1): "",
	} {
		raw, err := json.Marshal(map[string]any{"agents": []string{}, "projects": []string{}, "version": sent})
		if err != nil {
			t.Fatal(err)
		}
		url := serve(t, answering(200, string(raw)))
		offer, err := newClient(t, hosts.Options{}).Offer(t.Context(), target(url, password))
		if err != nil || offer.Version != want {
			t.Errorf("%q is shown as %+v, %v", sent, offer, err)
		}
	}
}
