package inbound_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bellhop/crypto/token"
)

// A verified token is accepted later only if it is unexpired, unchanged and its secret is the
// same.
func TestACachedTokenIsCheckedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then   func(s *site, presented string) string // the token to send next
		status int
		body   string
	}{
		"nothing has changed": {func(_ *site, p string) string { return p }, 200, acceptedOne},
		"it has expired": {
			func(s *site, p string) string { s.clock.Advance(10 * time.Minute); return p }, 401, expired,
		},
		"the task has a new secret": {
			func(s *site, p string) string { s.fakeDomain.secrets[taskID] = token.NewSecretHex(); return p }, 401, invalid,
		},
		"the task was deleted": {
			func(s *site, p string) string { delete(s.fakeDomain.secrets, taskID); return p }, 404, notFound,
		},
		"it has another signature": {func(s *site, p string) string {
			other := s.sign(other)
			return p[:strings.LastIndex(p, ".")] + other[strings.LastIndex(other, "."):]
		}, 401, invalid},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			presented := s.token()
			for range 2 {
				r, _ := post(path+"?token="+presented, text)
				want(t, s.do(r), 200, acceptedOne)
			}
			r, _ := post(path+"?token="+c.then(s, presented), text)
			want(t, s.do(r), c.status, c.body)
		})
	}
}

// A renewal accepts tokens of any age; that must not make them valid for events.
func TestATokenAcceptedForRenewalIsNotValidForEvents(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	presented := s.token()
	s.clock.Advance(time.Hour)
	renewal := httptest.NewRequest(http.MethodPost, path+"/renew?token="+presented, http.NoBody)
	renewal.Header.Set("Authorization", "Bearer agent-password")
	if rec := s.do(renewal); rec.Code != http.StatusOK {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	r, _ := post(path+"?token="+presented, text)
	want(t, s.do(r), 401, expired)
}
