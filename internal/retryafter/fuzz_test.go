package retryafter_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/internal/retryafter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// FuzzParse checks that for any value the wait is between 1 s and 1 h.
func FuzzParse(f *testing.F) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, seed := range []string{
		"", "0", "7", "3600", "3601", "-1", "+5", "--1", "99999999999999999999", "1.5", "1e9", " 12 ", "0x10", "soon",
		"Wed, 04 Mar 2026 05:06:37 GMT", "Wednesday, 04-Mar-26 05:06:37 GMT", "Wed Mar  4 05:06:37 2026",
		"Wed, 04 Mar 9999 05:06:37 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "Wed, 04 Mar 2026 05:06:37 CET", "\x00", "٧",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		d, ok := retryafter.Parse(value, now)
		if ok && (d < time.Second || d > time.Hour) || !ok && d != 0 {
			t.Errorf("%q: %s %v", value, d, ok)
		}
	})
}
