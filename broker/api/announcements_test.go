package api_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"bellhop/protocol"
)

func TestAnnouncementsAreMadeReadAndTakenBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const body = `{"text":" Restart at noon ","level":"warning","expiresIn":3600,"announcementId":"noon"}`
	const made = `{"announcementId":"noon","text":"Restart at noon","level":"warning","createdAt":"+0s","expiresAt":"+1h0m0s"}`
	want(t, s.as(s.admin, "POST", "/api/announcements", body), 201, made)
	s.clock.Advance(time.Minute)
	want(t, s.as(s.admin, "POST", "/api/announcements", body), 200, made)
	want(t, s.as(s.admin, "POST", "/api/announcements", strings.Replace(body, "noon", "one", 1)), 409,
		`{"error":"The announcement exists with other content","code":"conflict"}`)
	want(t, s.as(s.admin, "POST", "/api/announcements", `{"text":"Hello"}`), 201,
		`{"announcementId":"<id1>","text":"Hello","level":"info","createdAt":"+1m0s","expiresAt":"+24h1m0s"}`)
	list := s.as(s.ada, "GET", "/api/announcements", "")
	if got := plain(list.Body.String()); list.Code != http.StatusOK ||
		!strings.HasPrefix(got, `{"announcements":[`+made+`,{"announcementId":"<id1>"`) {
		t.Errorf("%d %s", list.Code, got)
	}
	for range 2 { // taking back may be repeated
		want(t, s.as(s.admin, "DELETE", "/api/announcements/noon", ""), 200, `{"success":true}`)
	}
	want(t, s.as(s.admin, "POST", "/api/announcements", body), 410,
		`{"error":"The announcement has been taken back","code":"gone"}`)
	s.clock.Advance(24 * time.Hour) // the other one expires by itself
	want(t, s.as(s.ada, "GET", "/api/announcements", ""), 200, `{"announcements":[]}`)
}

func TestOnlyAdministratorsAnnounce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	want(t, s.as(s.ada, "POST", "/api/announcements", `{"text":"x"}`), 403,
		`{"error":"Only administrators make announcements","code":"forbidden"}`)
	want(t, s.as(s.ada, "DELETE", "/api/announcements/x", ""), 403,
		`{"error":"Only administrators take announcements back","code":"forbidden"}`)
	for _, method := range []string{"GET", "POST"} {
		if got := s.as(nil, method, "/api/announcements", ""); got.Code != http.StatusUnauthorized {
			t.Errorf("%s without a caller: %d %s", method, got.Code, got.Body)
		}
	}
	want(t, s.as(s.ada, "GET", "/api/announcements", ""), 200, `{"announcements":[]}`)
}

func TestBadAnnouncementsAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for body, message := range map[string]string{
		`{}`:              "text is required",
		`{"text":" \n "}`: "text is required",
		`{"text":"` + strings.Repeat("é", 501) + `"}`: "text is longer than 500 characters",
		`{"text":"a\u0007"}`:                          "text has control characters other than line feeds",
		`{"text":"a","level":"loud"}`:                 `level must be \"info\", \"success\", \"warning\" or \"error\"`,
		`{"text":"a","expiresIn":9}`:                  "expiresIn must be from 10 to 2592000 seconds",
		`{"text":"a","expiresIn":-1}`:                 "expiresIn must be from 10 to 2592000 seconds",
		`{"text":"a","expiresIn":2592001}`:            "expiresIn must be from 10 to 2592000 seconds",
		`{"text":"a","announcementId":"a b"}`: "announcementId must have 1 to 64 letters, digits, " +
			"hyphens or underscores",
	} {
		want(t, s.as(s.admin, "POST", "/api/announcements", body), 400, `{"error":"`+message+`","code":"invalid"}`)
	}
	for _, body := range []string{`{"text":7}`, `{"text":"a","expiresIn":"1h"}`, `[]`, `{"text":"a"`} {
		if got := s.as(s.admin, "POST", "/api/announcements", body); got.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, got.Code, got.Body)
		}
	}
	if got := s.as(s.admin, "DELETE", "/api/announcements/none", ""); got.Code != http.StatusNotFound {
		t.Errorf("an unknown one: %d %s", got.Code, got.Body)
	}
	want(t, s.as(s.ada, "GET", "/api/announcements", ""), 200, `{"announcements":[]}`)
	for i := range protocol.MaxAnnouncements {
		if got := s.as(s.admin, "POST", "/api/announcements",
			`{"text":"`+strconv.Itoa(i)+`"}`); got.Code != http.StatusCreated {
			t.Fatalf("%d: %s", got.Code, got.Body)
		}
	}
	want(t, s.as(s.admin, "POST", "/api/announcements", `{"text":"one too many"}`), 409,
		`{"error":"There are as many announcements as can hold at the same time","code":"conflict","hint":"Take one back with DELETE /api/announcements/ID"}`)
}
