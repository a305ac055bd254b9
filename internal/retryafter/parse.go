package retryafter

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Min and Max bound every wait (reliability OUT-5).
const (
	Min = time.Second
	Max = time.Hour
)

// Parse reads the header of RFC 9110 section 10.2.3, seconds or a date, clamped to Min and Max.
// It returns false if the value is neither.
func Parse(value string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0, false
	}
	if digits := strings.TrimLeft(value, "+-"); strings.Trim(digits, "0123456789") == "" && digits != "" {
		if value[0] == '-' {
			return Min, true
		}
		seconds, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || seconds > int64(Max/time.Second) { // the number is too large for an int64
			return Max, true
		}
		return clamp(time.Duration(seconds) * time.Second), true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return clamp(at.Sub(now)), true
}

func clamp(d time.Duration) time.Duration { return min(max(d, Min), Max) }
