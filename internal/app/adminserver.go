package app

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/crypto/seal"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// adminServer is the listener for the operator of a process: metrics and profiles. It asks no database
// who calls, so that it also answers while the database does not.
type adminServer struct {
	metrics http.Handler
	secret  seal.Secret
	wrong   *httpapi.Limiter // of wrong secrets, by address
}

const (
	// minAdminToken keeps a guessable token from opening the profiles.
	minAdminToken = 16
	// maxProfileSeconds bounds a profile: its caller may leave, the profile continues.
	maxProfileSeconds = 60
)

// Limits of wrong secrets from one address. The right one is never counted.
const (
	wrongPerSecond = 0.5
	wrongBurst     = 20
)

// adminConfig configures the admin listener.
type adminConfig struct {
	Variable, Listen string // of the address, for errors; "" = no listener
	SecretVariable   string // of the secret, for errors; "" = the secret is the password of a host
	Secret           seal.Secret
	Log              *slog.Logger
}

// open binds the admin listener. An address without a host is on loopback. Without an address
// there is no listener, and the result is nil.
func (c *adminConfig) open(metrics http.Handler) (*server, error) {
	if c.Listen == "" {
		return nil, nil //nolint:nilnil // no listener is wanted
	}
	if len(c.Secret.Reveal()) < minAdminToken && c.SecretVariable != "" {
		return nil, &protocol.Error{
			Code:    protocol.CodeInvalid,
			Message: c.SecretVariable + " has fewer than " + strconv.Itoa(minAdminToken) + " characters",
			Hint:    "The admin listener of " + c.Variable + " needs it. Make one with: openssl rand -hex 32",
		}
	}
	address := c.Listen
	if host, port, err := net.SplitHostPort(address); err == nil && host == "" {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	listener, err := listen(c.Variable, address)
	if err != nil {
		return nil, err
	}
	if c.SecretVariable == "" {
		if err := checkHostPassword(listener.Addr(), c.Secret); err != nil {
			return nil, errors.Join(err, listener.Close())
		}
	}
	admin := &adminServer{
		metrics: metrics, secret: c.Secret,
		wrong: httpapi.NewLimiter(httpapi.LimiterOptions{Rate: wrongPerSecond, Burst: wrongBurst}),
	}
	e := httpapi.New(httpapi.Options{Log: c.Log})
	admin.routes(e)
	server := newServer(listener, e, c.Log)
	c.Log.Info("admin listener", "url", server.url)
	return server, nil
}

func (s *adminServer) routes(e *echo.Echo) {
	e.Use(httpapi.GuardHost(), httpapi.GuardOrigin())
	e.GET("/metrics", echo.WrapHandler(s.metrics), httpapi.NoStore(), s.authenticate)
	e.GET("/debug/pprof/:profile", s.profile, httpapi.NoStore(), s.authenticate)
}

// profile serves a profile of the runtime. The command line is not among them: it may have secrets.
func (s *adminServer) profile(c echo.Context) error {
	if given := c.QueryParam("seconds"); given != "" {
		if n, err := strconv.Atoi(given); err != nil || n < 1 || n > maxProfileSeconds {
			return protocol.Errorf(protocol.CodeInvalid, "seconds must be between 1 and %d", maxProfileSeconds)
		}
	}
	var handler http.Handler
	switch name := c.Param("profile"); name {
	case "profile":
		handler = http.HandlerFunc(pprof.Profile)
	case "trace":
		handler = http.HandlerFunc(pprof.Trace)
	case "allocs", "block", "goroutine", "heap", "mutex", "threadcreate":
		handler = pprof.Handler(name)
	default:
		return &protocol.Error{
			Code: protocol.CodeNotFound, Message: "Profile not found",
			Hint: "There are: allocs, block, goroutine, heap, mutex, profile, threadcreate, trace",
		}
	}
	handler.ServeHTTP(c.Response(), c.Request())
	return nil
}

// allowWrong reports whether a wrong secret is answered as one, or else how long its sender has to wait.
func (s *adminServer) allowWrong(c echo.Context, given string) (ok bool, wait time.Duration) {
	if given == "" {
		return true, 0
	}
	return s.wrong.Allow(c.RealIP())
}

// authenticate accepts the secret as a bearer token, or as the password of Basic authentication, which
// `go tool pprof http://admin:SECRET@…` sends.
func (s *adminServer) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		_, given, isBasic := c.Request().BasicAuth()
		if !isBasic {
			scheme, credential, _ := strings.Cut(c.Request().Header.Get("Authorization"), " ")
			if strings.EqualFold(scheme, "Bearer") {
				given = strings.TrimSpace(credential)
			}
		}
		got, want := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.secret.Reveal()))
		if !s.secret.IsZero() && subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
			return next(c)
		}
		if ok, wait := s.allowWrong(c, given); !ok {
			return &protocol.Error{
				Code: protocol.CodeTooManyRequests, Message: "Too many wrong passwords", RetryAfter: int(math.Ceil(wait.Seconds())),
			}
		}
		return &protocol.Error{
			Code: protocol.CodeUnauthorized, Message: "Unauthorized",
			Hint: "Send the admin token of the broker, or the agent password of the host, as Authorization: Bearer",
		}
	}
}
