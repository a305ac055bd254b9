package outbound

import "time"

// pauses are those after attempts 1, 2, 3 and so on: the fast retries of OUT-3, then the
// slow ones of OUT-4. The last pause repeats.
var pauses = []time.Duration{
	time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second,
	30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour,
}

const jitter = 0.2

// pauseAfter returns the pause after the given number of attempts; random is in [0,1).
func pauseAfter(attempts int, random float64) time.Duration {
	base := pauses[min(max(attempts, 1), len(pauses))-1]
	return time.Duration(float64(base) * (1 - jitter + 2*jitter*random))
}
