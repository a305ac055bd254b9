package app

import (
	"time"

	"bellhop/broker"
)

// Quotas are the most that one user may have; 0: no limit.
type Quotas struct {
	broker.QuotaLimits
	Requests int // a minute, to one replica
}

// Retention says what a broker keeps; 0: everything.
type Retention struct {
	broker.Retention
	Deliveries time.Duration // deliveries that ended more recently
}

// DefaultRetention is what a broker keeps unless it is configured.
func DefaultRetention() Retention {
	const day = 24 * time.Hour
	return Retention{
		Retention:  broker.Retention{Audit: 365 * day, Changes: 10_000, Refused: 1000},
		Deliveries: 30 * day,
	}
}
