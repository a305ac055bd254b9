package auth

import (
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"sync"
	"time"

	"github.com/alexedwards/scs/v2"

	"bellhop/broker"
	"bellhop/internal/httpapi"
)

// Ten sign-in attempts at once, then one every six seconds: ten a minute.
const (
	attemptEvery = 6 * time.Second
	attemptBurst = 10
)

// Options are what a Service works with. The stores are required.
type Options struct {
	Users  broker.UserStore
	Tokens broker.TokenStore
	Links  broker.LinkStore
	Logins broker.LoginStore

	// PublicURL is where browsers see the broker. With https the cookie is
	// Secure and has the __Host- prefix; on plain http a browser would drop it.
	PublicURL string
	Now       func() time.Time // nil = time.Now
	Log       *slog.Logger     // nil = none
}

// Service tells who is calling and signs people in and out.
type Service struct {
	users  broker.UserStore
	tokens broker.TokenStore
	links  broker.LinkStore
	now    func() time.Time
	log    *slog.Logger

	logins    *scs.SessionManager
	crossSite *http.CrossOriginProtection
	addresses *httpapi.Limiter
	accounts  *httpapi.Limiter
	hashing   chan struct{} // holds a place per argon2id computation: 19 MiB each
	dummy     func() string // hash of no password, for accounts that do not exist
}

// New returns a Service; it starts nothing in the background.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		users: o.Users, tokens: o.Tokens, links: o.Links,
		now: o.Now, log: o.Log,
		logins:    newLogins(o.Logins, o.PublicURL),
		crossSite: http.NewCrossOriginProtection(),
		addresses: newAttempts(o.Now),
		accounts:  newAttempts(o.Now),
		hashing:   make(chan struct{}, max(2, runtime.GOMAXPROCS(0))),
	}
	s.dummy = sync.OnceValue(dummyHash)
	// A proxy may rewrite Host; the broker's own origin stays its own.
	if origin := originOf(o.PublicURL); origin != "" {
		if err := s.crossSite.AddTrustedOrigin(origin); err != nil {
			o.Log.Warn("public URL is no origin", "err", err)
		}
	}
	return s
}

func newAttempts(now func() time.Time) *httpapi.Limiter {
	return httpapi.NewLimiter(httpapi.LimiterOptions{Rate: 1 / attemptEvery.Seconds(), Burst: attemptBurst, Now: now})
}

// originOf writes the origin of a URL as browsers do, "" if it has none.
func originOf(publicURL string) string {
	u, err := url.Parse(publicURL)
	if err != nil || u.Host == "" {
		return ""
	}
	origins, err := httpapi.ParseOrigins([]string{u.Scheme + "://" + u.Host})
	if err != nil || len(origins) == 0 {
		return ""
	}
	return origins[0]
}
