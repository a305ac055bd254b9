package outbound

import "testing"

func TestPausesStayWithinTheJitter(t *testing.T) {
	t.Parallel()
	for attempts := range 20 {
		low, high := pauseAfter(attempts, 0), pauseAfter(attempts, 0.999999)
		base := pauses[min(max(attempts, 1), len(pauses))-1]
		if low != base*8/10 || high > base*12/10 || high < base*119/100 {
			t.Errorf("%d: %s – %s of %s", attempts, low, high, base)
		}
	}
}
