//go:build linux

package torture

import "time"

const (
	userPause = 5 * time.Millisecond
	// silenceLimit is longer than the pause between two pings of a stream.
	silenceLimit = 15 * time.Second
)

// watchdog cancels a connection that stays silent, as behind a cut network.
type watchdog struct{ timer *time.Timer }

func newWatchdog(cancel func()) *watchdog {
	return &watchdog{time.AfterFunc(silenceLimit, cancel)}
}

func (w *watchdog) reset() { w.timer.Reset(silenceLimit) }

func (w *watchdog) stop() { w.timer.Stop() }
