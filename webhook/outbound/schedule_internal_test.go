package outbound

import "testing"

func TestGapsStayWithinTheJitter(t *testing.T) {
	for attempts := range 20 {
		low, high := gap(attempts, 0), gap(attempts, 0.999999)
		base := gaps[min(max(attempts, 1), len(gaps))-1]
		if low != base*8/10 || high > base*12/10 || high < base*119/100 {
			t.Errorf("%d: %s – %s of %s", attempts, low, high, base)
		}
	}
}
