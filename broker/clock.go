package broker

import "time"

// at is the present as the databases keep it.
func at(now func() time.Time) time.Time { return now().UTC().Truncate(time.Microsecond) }
