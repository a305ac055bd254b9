package verify

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime returns the time that all threads of a process have run. Linux encodes the clock of a process in
// its number as clock_getcpuclockid(3) does.
func processorTime(pid int) (used time.Duration, known bool) {
	const scheduled = 2 // CPUCLOCK_SCHED: user and system time, in nanoseconds
	var spent unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &spent); err != nil { //nolint:gosec // a pid has 22 bits
		return 0, false
	}
	return time.Duration(spent.Nano()), true
}
