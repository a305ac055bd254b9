package inbound_test

import (
	"testing"
	"time"
)

// Tokens follow the wall clock, whichever way it is set, and the host is
// asked to renew a token of another time. When the clock is corrected, they are valid again.
// Nothing is stored meanwhile.
func TestTokensFollowTheWallClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		jump     time.Duration
		response string
	}{
		{"the clock is an hour ahead: expired", time.Hour, expired},
		{"the clock is an hour behind: issued in the future", -time.Hour, expired},
		{"a minute behind is tolerated between replicas", -time.Minute, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			presented := s.token()
			send := func(status int, response string) {
				t.Helper()
				r, _ := post(path+"?token="+presented, text)
				want(t, s.do(r), status, response)
			}
			s.clock.Advance(c.jump)
			if c.response == "" {
				send(200, acceptedOne)
				return
			}
			send(401, c.response)
			if s.fakeDomain.eventCount() != 0 {
				t.Error("an event reached the domain")
			}
			want(t, s.send(text), 200, acceptedOne) // a token of the new time
			s.clock.Advance(-c.jump)
			send(200, acceptedOne)
		})
	}
}
