package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost/api"
	"bellhop/protocol"
)

// putAnnouncements sends a broker's list; each item is "id text".
func (h *host) putAnnouncements(broker string, expires time.Time, items ...string) (int, string) {
	h.t.Helper()
	req := protocol.HostAnnouncements{BrokerID: broker, Announcements: []protocol.Announcement{}}
	for _, item := range items {
		id, text, _ := strings.Cut(item, " ")
		req.Announcements = append(req.Announcements, protocol.Announcement{
			ID: id, Text: text, Level: protocol.AnnouncementWarning, CreatedAt: h.clock.Now(), ExpiresAt: expires,
		})
	}
	raw, err := json.Marshal(req)
	if err != nil {
		h.t.Fatal(err)
	}
	status, _, body := h.call(request{"PUT", "/announcements", string(raw), []string{bearerPassword}})
	return status, body
}

func TestClientsOfAllSessionsAreShownAnnouncements(t *testing.T) {
	t.Parallel()
	var a *api.API
	h := newHost(t, func(given *api.API, _ *http.Server) { a = given })
	one, oneToken := h.headless("")
	two, twoToken := h.headless("")
	first, second := h.watch(one, oneToken), h.watch(two, twoToken)
	expires := h.clock.Now().Add(5 * time.Minute)
	for range 2 { // a repetition changes nothing
		if status, body := h.putAnnouncements("b1", expires, "noon Restart at noon"); status != http.StatusOK ||
			body != `{"success":true,"brokerId":"b1"}` {
			t.Fatalf("%d %s", status, body)
		}
	}
	h.putAnnouncements("b2", expires, "other Of another broker")
	late := h.watch(one, oneToken)
	h.putAnnouncements("b1", expires)
	for name, r := range map[string]*lineReader{"the first session": first, "the second": second} {
		line := r.next()
		if line.Message != "Restart at noon" || line.Level != "warning" || line.SessionID != "" ||
			string(line.Metadata) != `{"announcement_id":"noon","expires_at":"2026-03-01T12:05:00Z"}` {
			t.Errorf("%s: %+v %s", name, line, line.Metadata)
		}
		r.next()
		if line := r.next(); string(line.Metadata) != `{"announcement_id":"noon","cancelled":true}` {
			t.Errorf("%s: %+v %s", name, line, line.Metadata)
		}
		r.expect("status:warning:Restart at noon", "status:warning:Of another broker",
			"status:info:Taken back: Restart at noon")
	}
	shown := []string{late.next().Message, late.next().Message}
	if got := fmt.Sprint(shown); !strings.Contains(got, "noon") || !strings.Contains(got, "another") {
		t.Errorf("a later client was shown %s", got)
	}
	if line := late.next(); line.Message != "Taken back: Restart at noon" {
		t.Errorf("then %+v", line)
	}

	h.clock.Advance(6 * time.Minute)
	h.putAnnouncements("b1", expires, "old Expired already")
	a.ShowNotice("policy", protocol.AnnouncementWarning, "The policy is wrong", "")
	if line := first.next(); line.Message != "The policy is wrong" {
		t.Errorf("after an expired announcement came %+v", line)
	}
	last := h.watch(one, oneToken)
	if line := last.next(); line.Message != "The policy is wrong" {
		t.Errorf("a later client was shown %+v, want the host's own notice", line)
	}
	a.ShowNotice("policy", protocol.AnnouncementInfo, "", "The policy is right again")
	if line := last.next(); line.Message != "The policy is right again" {
		t.Errorf("the end: %+v", line)
	}
	if line := first.next(); line.Message != "The policy is right again" {
		t.Errorf("the end: %+v", line)
	}
}

func TestBadAnnouncementsToAHost(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	expires := h.clock.Now().Add(time.Hour)
	for name, call := range map[string]func() (int, string){
		"no broker":    func() (int, string) { return h.putAnnouncements("", expires, "a x") },
		"no text":      func() (int, string) { return h.putAnnouncements("b", expires, "a") },
		"a long text":  func() (int, string) { return h.putAnnouncements("b", expires, "a "+strings.Repeat("x", 501)) },
		"a strange id": func() (int, string) { return h.putAnnouncements("b", expires, "a/b x") },
		"too many":     func() (int, string) { return h.putAnnouncements("b", expires, make([]string, 21)...) },
	} {
		if status, body := call(); status != http.StatusBadRequest || !strings.Contains(body, `"code":"invalid"`) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	const empty = `{"brokerId":"b","announcements":[]}`
	if status, _, body := h.call(request{"PUT", "/announcements", empty, nil}); status != http.StatusUnauthorized {
		t.Errorf("without the password: %d %s", status, body)
	}
	id, token := h.headless("")
	withToken := request{"PUT", "/announcements", empty, []string{"Authorization: Bearer " + token}}
	if status, _, body := h.call(withToken); status != http.StatusUnauthorized {
		t.Errorf("with a token of session %s: %d %s", id, status, body)
	}
	for i := range 64 {
		h.putAnnouncements(fmt.Sprint("b", i), expires, "a x")
	}
	if status, body := h.putAnnouncements("one too many", expires, "a x"); status != http.StatusTooManyRequests {
		t.Errorf("a 65th broker: %d %s", status, body)
	}
}

// Clients and readers of streams learn that a host stops before they are disconnected.
func TestAStoppingHostNotifiesItsClients(t *testing.T) {
	t.Parallel()
	var a *api.API
	h := newHost(t, func(given *api.API, _ *http.Server) { a = given })
	id, token := h.headless("")
	r := h.watch(id, token)
	r.send(`{}`) // the response shows that it has joined
	r.next()
	stream := h.stream(request{"GET", "/stream/" + id + "?follow=true&token=" + token, "", nil})
	a.End()
	if line := r.next(); line.Message != "The agent host is stopping" || line.SessionID != "" {
		t.Errorf("got %+v", line)
	}
	h.call(request{"DELETE", "/sessions/" + id, "", []string{bearerPassword}}) // ends the stream
	if p, err := stream.next(); err != nil || p.Type != protocol.PartDataNotice ||
		string(p.Data) != `{"level":"warning","message":"The agent host is stopping","system":true}` {
		t.Errorf("the stream: %+v, %v", p, err)
	}
}

// The broker reads with the offer what a host says to every user.
func TestAnOfferHasTheNoticesOfItsHost(t *testing.T) {
	t.Parallel()
	var a *api.API
	h := newHost(t, func(given *api.API, _ *http.Server) {
		a = given
		kept := &protocol.HostOffer{
			DefaultAgent: "demo", Agents: []protocol.OfferedAgent{}, Projects: []protocol.OfferedProject{},
			PermissionModes: []protocol.PermissionMode{},
		}
		a.Offer = func(context.Context) (*protocol.HostOffer, error) { return kept, nil }
	})
	shows := func(when, want string) {
		t.Helper()
		_, _, body := h.call(request{"GET", "/offer", "", []string{bearerPassword}})
		expectEqual(t, when, body, `{"defaultAgent":"demo","agents":[],"projects":[],"permissionModes":[]`+want+`}`)
	}
	shows("at first", "")
	h.putAnnouncements("b1", h.clock.Now().Add(time.Hour), "noon Restart at noon")
	a.ShowNotice("policy", protocol.AnnouncementWarning, "The policy is wrong", "")
	shows("with a notice", `,"notices":[{"id":"policy","level":"warning","text":"The policy is wrong"}]`)
	a.ShowNotice("policy", protocol.AnnouncementInfo, "", "It is right again")
	shows("afterwards", "")
}
