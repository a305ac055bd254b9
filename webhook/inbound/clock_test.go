package inbound_test

import (
	"testing"
	"time"
)

// 26: tokens follow the wall clock, whichever way it is set; a clock that is
// set right again makes them right again. Nothing is stored meanwhile.
func TestTokensFollowTheWallClock(t *testing.T) {
	for _, c := range []struct {
		name   string
		jump   time.Duration
		answer string
	}{
		{"an hour ahead they are over", time.Hour, expired},
		{"an hour back they are of the future", -time.Hour, invalid},
		{"a minute back is another replica's clock", -time.Minute, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			presented := s.token()
			send := func(status int, answer string) {
				t.Helper()
				r, _ := post(path+"?token="+presented, text)
				want(t, s.do(r), status, answer)
			}
			s.clock.Advance(c.jump)
			if c.answer == "" {
				send(200, taken)
				return
			}
			send(401, c.answer)
			if s.desk.taken() != 0 {
				t.Error("an event reached the domain")
			}
			want(t, s.send(text), 200, taken) // a token of the new time
			s.clock.Advance(-c.jump)
			send(200, taken)
		})
	}
}
