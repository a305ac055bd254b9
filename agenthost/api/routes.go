package api

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// maxTranscript limits the lines of an open turn that a new WebSocket client gets.
// The history has all of them.
const maxTranscript = 8 << 20

// Routes registers every route on e, which httpapi.New returned. Middleware is set
// by route, because Echo runs the middleware of groups for unknown routes too.
func (a *API) Routes(e *echo.Echo) {
	a.ended = make(chan struct{})
	if a.Lines.Transcript == 0 {
		a.Lines.Transcript = maxTranscript
	}
	a.channels.host, a.channels.limits, a.channels.byID = a.Host, a.Lines, map[string]*channel{}
	a.channels.settle, a.channels.version = a.Settle, a.Version
	a.useGuards(e)
	const ok = http.StatusOK
	passwordOnly, passwordOrToken := a.requirePassword, a.requireSessionAccess

	e.GET("/healthz", httpapi.Handle(ok, a.healthz))
	e.GET("/readyz", httpapi.Handle(ok, a.readyz))

	e.POST("/session", httpapi.Handle(ok, a.openSession), passwordOnly)
	e.GET("/session", httpapi.Handle(ok, a.boundSessions), passwordOnly)
	e.POST("/reconcile", httpapi.Handle(ok, a.reconcile), passwordOnly)
	e.DELETE("/session/:id", httpapi.Handle(ok, a.deleteSession), passwordOnly)
	e.POST("/session/:id/interrupt", httpapi.Handle(ok, a.interrupt), passwordOrToken)
	e.POST("/session/:id/interactions/:iid", httpapi.Handle(ok, a.answer), passwordOrToken)
	e.GET("/session/:id/events", httpapi.Handle(ok, a.events), passwordOnly)
	e.GET("/session/:id/diff", httpapi.Handle(ok, a.diff), passwordOnly)
	e.POST("/session/:id/revoke", httpapi.Handle(ok, a.revoke), passwordOnly)
	e.POST("/session/:id/terminal", httpapi.Handle(ok, a.terminal, httpapi.OptionalBody()), passwordOnly)

	e.POST("/stream/:id", a.startStream, httpapi.RequestDeadline(protocol.PromptTimeout))
	e.GET("/stream/:id", a.attachStream)

	e.POST("/sessions", httpapi.Handle(ok, a.createSession, httpapi.OptionalBody()), passwordOnly)
	e.GET("/sessions", httpapi.Handle(ok, a.listSessions), passwordOnly)
	e.GET("/sessions/:id/history", httpapi.Handle(ok, a.history), passwordOrToken)
	e.DELETE("/sessions/:id", httpapi.Handle(http.StatusNoContent, a.endSession), passwordOnly)
	e.GET("/ws/:id", a.serveLines)

	e.GET("/status", httpapi.Handle(ok, a.status), passwordOnly)
	e.GET("/status/events", a.statusEvents, passwordOnly)
}

// useGuards adds the middleware that must also run for unknown routes and errors:
// without CORS headers, a browser hides the error from the page.
func (a *API) useGuards(e *echo.Echo) {
	publicHost, publicOrigin := "", ""
	if u, err := url.Parse(a.PublicURL); err == nil && u.Host != "" {
		publicHost, publicOrigin = u.Hostname(), u.Scheme+"://"+u.Host
	}
	e.Use(
		httpapi.HSTS(a.PublicURL),
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
