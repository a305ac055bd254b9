package auth

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Ten attempts at once, then one every six seconds: ten a minute.
const (
	attemptEvery = 6 * time.Second
	attemptBurst = 10
	maxAttempted = 10_000 // names remembered; beyond it idle ones are forgotten
)

// attempts limits sign-ins by name.
type attempts struct {
	mu     sync.Mutex
	byName map[string]*rate.Limiter
}

func newAttempts() *attempts { return &attempts{byName: map[string]*rate.Limiter{}} }

func (a *attempts) allow(name string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	limiter, ok := a.byName[name]
	if !ok {
		if len(a.byName) >= maxAttempted {
			a.forget(now)
		}
		limiter = rate.NewLimiter(rate.Every(attemptEvery), attemptBurst)
		a.byName[name] = limiter
	}
	return limiter.AllowN(now, 1)
}

// forget drops the names that are as good as new; if none is, it drops all:
// memory is bounded whatever an attacker names.
func (a *attempts) forget(now time.Time) {
	for name, limiter := range a.byName {
		if limiter.TokensAt(now) >= attemptBurst {
			delete(a.byName, name)
		}
	}
	if len(a.byName) >= maxAttempted {
		clear(a.byName)
	}
}
