package api

import (
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
	"bellhop/openapi"
	"bellhop/protocol"
)

// maxTranscript limits the lines of an open turn that a new WebSocket client gets.
// The history has all of them.
const maxTranscript = 8 << 20

// Routes registers every route on e, which httpapi.New returned. Middleware is set
// by route, because Echo runs the middleware of groups for unknown routes too.
func (a *API) Routes(e *echo.Echo) {
	a.ended = make(chan struct{})
	a.wrong = httpapi.NewLimiter(httpapi.LimiterOptions{Rate: wrongPerSecond, Burst: wrongBurst})
	if a.Lines.Transcript == 0 {
		a.Lines.Transcript = maxTranscript
	}
	a.channels.host, a.channels.limits, a.channels.byID = a.Host, a.Lines, map[string]*channel{}
	a.channels.settle, a.channels.version = a.Settle, a.Version
	if a.channels.board.now = a.Now; a.Now == nil {
		a.channels.board.now = time.Now
	}
	a.useGuards(e)
	const ok = http.StatusOK
	passwordOnly, keyed, keyedOrToken := a.requirePassword, a.requireSessionKey, a.requireSessionAccess

	e.GET("/healthz", httpapi.Handle(ok, a.healthz))
	e.GET("/readyz", httpapi.Handle(ok, a.readyz))
	openapi.Host().Routes(e)

	e.POST("/session", httpapi.Handle(ok, a.openSession), passwordOnly, withKeys)
	e.GET("/session", httpapi.Handle(ok, a.boundSessions), passwordOnly)
	e.POST("/reconcile", httpapi.Handle(ok, a.reconcile), passwordOnly)
	e.POST("/revoke", httpapi.Handle(ok, a.revokeCredentials), passwordOnly)
	e.GET("/session/:id", httpapi.Handle(ok, a.boundSession), keyed)
	e.DELETE("/session/:id", httpapi.Handle(ok, a.deleteSession), keyed)
	e.POST("/session/:id/interrupt", httpapi.Handle(ok, a.interrupt), keyedOrToken)
	e.POST("/session/:id/interactions/:iid", httpapi.Handle(ok, a.answer), keyedOrToken)
	e.GET("/session/:id/events", httpapi.Handle(ok, a.events), keyed)
	e.GET("/session/:id/diff", httpapi.Handle(ok, a.diff), keyed)
	e.GET("/session/:id/workspace", httpapi.Handle(ok, a.sessionWorkspace), keyed)
	a.fileRoutes(e)
	e.GET("/session/:id/shell", httpapi.Describe(a.shell, describedShell), keyed)
	e.GET("/session/:id/shell/direct", httpapi.Describe(a.directShell, describedShell))
	e.POST("/session/:id/commit", httpapi.Handle(ok, a.commit), keyed)
	e.POST("/session/:id/discard", httpapi.Handle(ok, a.discard), keyed)
	e.POST("/session/:id/fetch", httpapi.Handle(ok, a.fetchRemote, httpapi.OptionalBody()), keyed)
	e.POST("/session/:id/pull-request", httpapi.Handle(ok, a.pullRequest), keyed)
	e.POST("/session/:id/push", httpapi.Handle(ok, a.push, httpapi.OptionalBody()), keyed)
	e.POST("/session/:id/revoke", httpapi.Handle(ok, a.revoke), keyed)
	e.POST("/session/:id/restart", httpapi.Handle(ok, a.restart, httpapi.OptionalBody()), keyed)
	e.POST("/session/:id/terminal", httpapi.Handle(ok, a.terminal, httpapi.OptionalBody()), keyed)
	e.DELETE("/session/:id/key", httpapi.Handle(ok, a.releaseKey), a.requireOperator)

	e.POST("/stream/:id", httpapi.Describe(a.startStream, describedPrompt),
		httpapi.RequestDeadline(protocol.PromptTimeout))
	e.GET("/stream/:id", httpapi.Describe(a.attachStream, describedStream))

	a.otherRoutes(e)

	e.GET("/metrics", httpapi.Describe(a.metrics, describedMetrics), passwordOnly)
	e.GET("/status", httpapi.Handle(ok, a.status), passwordOnly, a.noteOperator)
	e.GET("/status/events", httpapi.Describe(a.statusEvents, describedStatusEvents), passwordOnly, a.noteOperator)
}

// otherRoutes are those of the headless interface and of the host itself.
func (a *API) otherRoutes(e *echo.Echo) {
	const ok = http.StatusOK
	passwordOnly, keyed, keyedOrToken := a.requirePassword, a.requireSessionKey, a.requireSessionAccess
	e.POST("/sessions", httpapi.Handle(ok, a.createSession, httpapi.OptionalBody()), passwordOnly)
	e.GET("/sessions", httpapi.Handle(ok, a.listSessions), passwordOnly)
	e.GET("/sessions/:id/history", httpapi.Handle(ok, a.history), keyedOrToken)
	e.DELETE("/sessions/:id", httpapi.Handle(http.StatusNoContent, a.endSession), keyed)
	e.GET("/ws/:id", httpapi.Describe(a.serveLines, describedLines))

	e.GET("/workspaces", httpapi.Handle(ok, a.listWorkspaces), passwordOnly, withKeys)
	e.GET("/offer", httpapi.Handle(ok, a.offer), passwordOnly)
	a.installationRoutes(e)
	e.PUT("/announcements", httpapi.Handle(ok, a.putAnnouncements), passwordOnly)
	e.POST("/projects/:project/stop", httpapi.Handle(ok, a.stopProject, httpapi.OptionalBody()), a.requireOperator)
}

// fileRoutes are about files and commands, for messages and to read.
func (a *API) fileRoutes(e *echo.Echo) {
	const ok = http.StatusOK
	e.GET("/session/:id/paths", httpapi.Handle(ok, a.sessionPaths), a.requireSessionAccess)
	e.GET("/session/:id/files", httpapi.Handle(ok, a.directory), a.requireSessionAccess)
	e.GET("/session/:id/file", httpapi.Handle(ok, a.file), a.requireSessionAccess)
	e.GET("/session/:id/search", httpapi.Handle(ok, a.searchFiles), a.requireSessionAccess)
	e.GET("/session/:id/commands", httpapi.Handle(ok, a.sessionCommands), a.requireSessionAccess)
	e.GET("/projects/:project/paths", httpapi.Handle(ok, a.projectPaths), a.requirePassword)
}

// installationRoutes are about agents' programs on this machine.
func (a *API) installationRoutes(e *echo.Echo) {
	const ok = http.StatusOK
	e.GET("/installations", httpapi.Handle(ok, a.listInstallations), a.requirePassword)
	e.POST("/installations", httpapi.Handle(ok, a.install), a.requirePassword)
	e.DELETE("/installations/:program", httpapi.Handle(ok, a.cancelInstallation), a.requirePassword)
}

// StreamKinds are the kinds of the routes that answer with a stream, for metrics.
func StreamKinds() map[string]string {
	return map[string]string{
		"/stream/:id": "session", "/ws/:id": "lines", "/status/events": "status",
		"/session/:id/shell": "shell", "/session/:id/shell/direct": "shell",
	}
}

// metrics serves GET /metrics.
func (a *API) metrics(c echo.Context) error {
	if a.Metrics == nil {
		return echo.ErrNotFound
	}
	a.Metrics.ServeHTTP(c.Response(), c.Request())
	return nil
}

// useGuards adds the middleware that must also run for unknown routes and errors:
// without CORS headers, a browser hides the error from the page.
func (a *API) useGuards(e *echo.Echo) {
	publicHost, publicOrigin := "", ""
	if u, err := url.Parse(a.PublicURL); err == nil && u.Host != "" {
		publicHost, publicOrigin = u.Hostname(), u.Scheme+"://"+u.Host
	}
	e.Use(
		httpapi.NameAnswers(""),
		httpapi.HSTS(a.PublicURL),
		httpapi.CORS(httpapi.CORSOptions{
			AllowedOrigins: a.AllowedOrigins,
			AllowMethods:   []string{http.MethodGet, http.MethodPost, http.MethodDelete},
			AllowHeaders:   []string{"Authorization", "Content-Type", "Last-Event-ID", protocol.HeaderRequest},
		}),
		httpapi.NoStore(),
		httpapi.GuardHost(publicHost),
		httpapi.GuardOrigin(append([]string{publicOrigin}, a.AllowedOrigins...)...),
	)
}
