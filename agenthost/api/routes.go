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

	a.act(e, http.MethodPost, "/session", httpapi.Handle(ok, a.openSession), passwordOnly, withKeys)
	e.GET("/session", httpapi.Handle(ok, a.boundSessions), passwordOnly)
	a.act(e, http.MethodPost, "/reconcile", httpapi.Handle(ok, a.reconcile), passwordOnly)
	a.act(e, http.MethodPost, "/revoke", httpapi.Handle(ok, a.revokeCredentials), passwordOnly)
	e.GET("/session/:id", httpapi.Handle(ok, a.boundSession), keyed)
	a.act(e, http.MethodDelete, "/session/:id", httpapi.Handle(ok, a.deleteSession), keyed)
	a.act(e, http.MethodPost, "/session/:id/interrupt", httpapi.Handle(ok, a.interrupt), keyedOrToken)
	a.act(e, http.MethodPost, "/session/:id/interactions/:iid", httpapi.Handle(ok, a.answer), keyedOrToken)
	e.GET("/session/:id/events", httpapi.Handle(ok, a.events), keyed)
	e.GET("/session/:id/diff", httpapi.Handle(ok, a.diff), keyed)
	e.GET("/session/:id/only-copies", httpapi.Handle(ok, a.onlyCopies), keyed)
	e.GET("/session/:id/workspace", httpapi.Handle(ok, a.sessionWorkspace), keyed)
	a.fileRoutes(e)
	e.GET("/session/:id/shell", httpapi.Describe(a.shell, describedShell), keyed)
	e.GET("/session/:id/shell/direct", httpapi.Describe(a.directShell, describedShell))
	a.act(e, http.MethodPost, "/session/:id/commit", httpapi.Handle(ok, a.commit), keyed)
	a.act(e, http.MethodPost, "/session/:id/discard", httpapi.Handle(ok, a.discard), keyed)
	a.act(e, http.MethodPost, "/session/:id/fetch", httpapi.Handle(ok, a.fetchRemote, httpapi.OptionalBody()), keyed)
	a.act(e, http.MethodPost, "/session/:id/pull-request", httpapi.Handle(ok, a.pullRequest), keyed)
	a.act(e, http.MethodPost, "/session/:id/push", httpapi.Handle(ok, a.push, httpapi.OptionalBody()), keyed)
	a.act(e, http.MethodPost, "/session/:id/revoke", httpapi.Handle(ok, a.revoke), keyed)
	a.act(e, http.MethodPost, "/session/:id/restart", httpapi.Handle(ok, a.restart, httpapi.OptionalBody()), keyed)
	a.act(e, http.MethodPost, "/session/:id/terminal", httpapi.Handle(ok, a.terminal, httpapi.OptionalBody()), keyed)
	a.act(e, http.MethodDelete, "/session/:id/key", httpapi.Handle(ok, a.releaseKey), a.requireOperator)

	a.act(e, http.MethodPost, "/stream/:id", httpapi.Describe(a.startStream, describedPrompt),
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
	a.act(e, http.MethodPost, "/sessions", httpapi.Handle(ok, a.createSession, httpapi.OptionalBody()), passwordOnly)
	e.GET("/sessions", httpapi.Handle(ok, a.listSessions), passwordOnly)
	e.GET("/sessions/:id/history", httpapi.Handle(ok, a.history), keyedOrToken)
	a.act(e, http.MethodDelete, "/sessions/:id", httpapi.Handle(http.StatusNoContent, a.endSession), keyed)
	e.GET("/ws/:id", httpapi.Describe(a.serveLines, describedLines))

	e.GET("/workspaces", httpapi.Handle(ok, a.listWorkspaces), passwordOnly, withKeys)
	e.GET("/offer", httpapi.Handle(ok, a.offer), passwordOnly)
	a.installationRoutes(e)
	a.act(e, http.MethodPut, "/announcements", httpapi.Handle(ok, a.putAnnouncements), passwordOnly)
	a.act(e, http.MethodPost, "/projects/:project/stop", httpapi.Handle(ok, a.stopProject, httpapi.OptionalBody()), a.requireOperator)
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
	a.act(e, http.MethodPost, "/installations", httpapi.Handle(ok, a.install), a.requirePassword)
	a.act(e, http.MethodDelete, "/installations/:program", httpapi.Handle(ok, a.cancelInstallation), a.requirePassword)
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
		httpapi.NameLife(func() string { return a.Life }),
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
