package auth

import (
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/alexedwards/scs/v2"

	"bellhop/broker"
	"bellhop/internal/httpapi"
)

// Store combines what a Service stores.
type Store interface {
	UserStore
	TokenStore
	LinkStore
	LoginStore
	FactorStore
	AttemptStore
	broker.AuditStore
}

// Options of a Service.
type Options struct {
	Store Store // required

	// PublicURL is the URL at which browsers reach the broker. With https the
	// cookie is Secure and has the __Host- prefix; on plain http a browser would
	// drop it.
	PublicURL string
	// TokenLife is how long API tokens may live. 0: tokens need no expiry.
	TokenLife time.Duration
	// Requests is how many requests a user may send in a minute to this replica; 0: any number.
	Requests int
	Now      func() time.Time // nil = time.Now
	Log      *slog.Logger     // nil = none
}

// Service authenticates callers and signs people in and out.
type Service struct {
	store Store
	now   func() time.Time
	log   *slog.Logger

	issuer string // what authenticator apps show beside the account

	tokenLife time.Duration    // 0: tokens need no expiry
	requests  *httpapi.Limiter // by user; nil: no limit

	logins *scs.SessionManager

	// consoleLogins is logins with the cookie of browsers at httpapi.ConsoleName. They accept one with the prefix
	// __Host- over http there, but programs with a cookie store do not.
	consoleLogins *scs.SessionManager

	crossSite *http.CrossOriginProtection
	hashing   chan struct{} // one slot per argon2id computation of 19 MiB
	dummy     func() string // a hash that no password matches, for accounts that do not exist
}

// New returns a Service. It starts no goroutine.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		store: o.Store, now: o.Now, log: o.Log, tokenLife: o.TokenLife, issuer: issuerOf(o.PublicURL),
		logins:        newLogins(o.Store, strings.HasPrefix(strings.ToLower(o.PublicURL), "https://"), o.Now),
		consoleLogins: newLogins(o.Store, true, o.Now),
		crossSite:     http.NewCrossOriginProtection(),
		hashing:       make(chan struct{}, max(2, runtime.GOMAXPROCS(0))),
	}
	if o.Requests > 0 {
		s.requests = httpapi.NewLimiter(httpapi.LimiterOptions{Rate: float64(o.Requests) / 60, Burst: o.Requests, Now: o.Now})
	}
	s.dummy = sync.OnceValue(dummyHash)
	// A proxy may rewrite Host. The public URL's origin is still the broker's own.
	if origin := originOf(o.PublicURL); origin != "" {
		if err := s.crossSite.AddTrustedOrigin(origin); err != nil {
			o.Log.Warn("public URL has no valid origin", "err", err)
		}
	}
	return s
}

// issuerOf names this installation in authenticator apps. Some apps overwrite an entry with the same issuer
// and account, so it has the host's name.
func issuerOf(publicURL string) string {
	u, err := url.Parse(publicURL)
	if err != nil || u.Hostname() == "" {
		return "Bellhop"
	}
	return "Bellhop " + strings.ReplaceAll(u.Hostname(), ":", ".")
}

// originOf returns the origin of a URL as browsers write it, "" if it has none.
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
