package outbound

import (
	"testing"
	"time"
)

// FuzzRetryAfter: whatever a receiver sends, the wait is between 1 s and 1 h.
func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, seed := range []string{
		"", "0", "7", "3600", "3601", "-1", "+5", "--1", "99999999999999999999", "1.5", "1e9", " 12 ", "0x10", "soon",
		"Wed, 04 Mar 2026 05:06:37 GMT", "Wednesday, 04-Mar-26 05:06:37 GMT", "Wed Mar  4 05:06:37 2026",
		"Wed, 04 Mar 9999 05:06:37 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "Wed, 04 Mar 2026 05:06:37 CET", "\x00", "٧",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		d, ok := retryAfter(value, now)
		if ok && (d < time.Second || d > time.Hour) || !ok && d != 0 {
			t.Errorf("%q: %s %v", value, d, ok)
		}
	})
}

func TestTheGapsStayInTheirBand(t *testing.T) {
	for attempts := range 20 {
		low, high := gap(attempts, 0), gap(attempts, 0.999999)
		base := gaps[min(max(attempts, 1), len(gaps))-1]
		if low != base*8/10 || high > base*12/10 || high < base*119/100 {
			t.Errorf("%d: %s – %s of %s", attempts, low, high, base)
		}
	}
}
