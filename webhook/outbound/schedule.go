package outbound

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// gaps after attempt 1, 2, 3 …: the fast lane of OUT-3, then the slow lane of
// OUT-4, whose last gap repeats.
var gaps = []time.Duration{
	time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second,
	30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour,
}

const jitter = 0.2

// gap after the given number of attempts; random is in [0,1).
func gap(attempts int, random float64) time.Duration {
	base := gaps[min(max(attempts, 1), len(gaps))-1]
	return time.Duration(float64(base) * (1 - jitter + 2*jitter*random))
}

const (
	minRetryAfter = time.Second
	maxRetryAfter = time.Hour
)

// retryAfter reads the header of RFC 9110 section 10.2.3, seconds or a date,
// clamped to 1 s – 1 h; false if it says nothing that can be read.
func retryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0, false
	}
	if digits := strings.TrimLeft(value, "+-"); strings.Trim(digits, "0123456789") == "" && digits != "" {
		if value[0] == '-' {
			return minRetryAfter, true
		}
		seconds, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) { // too many digits is huge
			return maxRetryAfter, true
		}
		return clamp(time.Duration(seconds) * time.Second), true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return clamp(at.Sub(now)), true
}

func clamp(d time.Duration) time.Duration { return min(max(d, minRetryAfter), maxRetryAfter) }
