package api

import (
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// A prompt may carry images: as much as fits into one line to an agent, with
// time for a slow line to send it.
const (
	maxPrompt  = protocol.MaxLine
	promptTime = time.Minute
)

// maxShown is how much of an open turn a late client of its lines is shown; the
// history has all.
const maxShown = 8 << 20

// Routes registers every route on e, which httpapi.New made. This list is the
// API; no group carries middleware, because Echo would run it for unknown
// routes too.
func (a *API) Routes(e *echo.Echo) {
	a.ended = make(chan struct{})
	if a.Lines.Transcript == 0 {
		a.Lines.Transcript = maxShown
	}
	a.channels.host, a.channels.limits, a.channels.open = a.Host, a.Lines, map[string]*channel{}
	a.guards(e)
	const ok = http.StatusOK
	password, member := a.requirePassword, a.requireMember

	e.GET("/healthz", httpapi.Handle(ok, a.healthz))
	e.GET("/readyz", httpapi.Handle(ok, a.readyz))

	e.POST("/session", httpapi.Handle(ok, a.openSession), password)
	e.DELETE("/session/:id", httpapi.Handle(ok, a.deleteSession), password)
	e.POST("/session/:id/interrupt", httpapi.Handle(ok, a.interrupt), member)
	e.POST("/session/:id/interactions/:iid", httpapi.Handle(ok, a.answer), member)
	e.GET("/session/:id/events", httpapi.Handle(ok, a.events), password)
	e.GET("/session/:id/diff", httpapi.Handle(ok, a.diff), password)
	e.POST("/session/:id/revoke", httpapi.Handle(ok, a.revoke), password)
	e.POST("/session/:id/terminal", httpapi.Handle(ok, a.terminal, httpapi.OptionalBody()), password)

	e.POST("/stream/:id", a.startStream, httpapi.RequestDeadline(promptTime))
	e.GET("/stream/:id", a.attachStream)

	e.POST("/sessions", httpapi.Handle(ok, a.createSession, httpapi.OptionalBody()), password)
	e.GET("/sessions", httpapi.Handle(ok, a.listSessions), password)
	e.GET("/sessions/:id/history", httpapi.Handle(ok, a.history), member)
	e.DELETE("/sessions/:id", httpapi.Handle(http.StatusNoContent, a.endSession), password)
	e.GET("/ws/:id", a.serveLines)

	e.GET("/status", httpapi.Handle(ok, a.status), password)
	e.GET("/status/events", a.statusEvents, password)
}

// guards run for unknown routes and refusals too: a browser sees an error only
// with CORS headers on it.
func (a *API) guards(e *echo.Echo) {
	publicHost, publicOrigin := "", ""
	if u, err := url.Parse(a.PublicURL); err == nil && u.Host != "" {
		publicHost, publicOrigin = u.Hostname(), u.Scheme+"://"+u.Host
	}
	e.Use(
		httpapi.CORS(httpapi.CORSOptions{
			AllowedOrigins: a.AllowedOrigins,
			AllowMethods:   []string{http.MethodGet, http.MethodPost, http.MethodDelete},
			AllowHeaders:   []string{"Authorization", "Content-Type", "Last-Event-ID"},
		}),
		httpapi.NoStore(),
		httpapi.GuardHost(publicHost),
		httpapi.GuardOrigin(append([]string{publicOrigin}, a.AllowedOrigins...)...),
	)
}
