package api

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
	"bellhop/openapi"
	"bellhop/protocol"
)

// Routes registers every route on e, which must come from httpapi.New. This list
// and those of Parts are the complete API. Groups have no middleware, because Echo
// would also run it for unknown routes.
func (a *API) Routes(e *echo.Echo) {
	a.guards(e)
	noStore, user := httpapi.NoStore(), a.Auth.Middleware
	const ok = http.StatusOK

	e.GET("/healthz", httpapi.Handle(ok, a.healthz))
	e.GET("/readyz", httpapi.Handle(ok, a.readyz))
	e.GET("/metrics", httpapi.Describe(a.metrics, describedMetrics), noStore, user)

	openapi.Broker().Routes(e)

	e.POST("/api/agent/webhook", httpapi.Describe(a.Webhook.Handle, describedWebhook), noStore)
	e.POST("/api/agent/webhook/renew", httpapi.Describe(a.Webhook.Renew, describedRenewal), noStore)

	a.accountRoutes(e, noStore, user)
	a.shareRoutes(e, noStore, user)

	a.taskRoutes(e, noStore, user)
	e.GET("/api/tasks/:id/events", httpapi.Describe(a.taskFeed, describedTaskFeed), user)
	e.GET("/api/events", httpapi.Describe(a.userFeed, describedUserFeed), user)

	e.POST("/api/agent", httpapi.Handle(ok, a.checkIn, httpapi.MaxBody(protocol.MaxCheckIn)), noStore, user)
	e.POST("/api/agent/attach", httpapi.Handle(ok, a.attach), noStore, user)
	e.POST("/api/agent/interrupt", httpapi.Handle(ok, a.interrupt), noStore, user)
	e.POST("/api/agent/restart", httpapi.Handle(ok, a.restart), noStore, user, withActKey)
	e.POST("/api/agent/finish", httpapi.Handle(ok, a.finish), noStore, user)
	e.POST("/api/agent/stream/:taskId", httpapi.Describe(a.relay, describedRelayedPrompt),
		noStore, httpapi.RequestDeadline(protocol.PromptTimeout))
	e.GET("/api/agent/stream/:taskId", httpapi.Describe(a.relay, describedRelayedStream), noStore)
	e.POST("/api/agent/diff", httpapi.Handle(ok, a.diff), noStore, user)
	e.GET("/api/interactions", httpapi.Handle(ok, a.listInteractions), noStore, user)
	e.POST("/api/interactions/:id", httpapi.Handle(ok, a.answerInteraction), noStore, user)

	e.GET("/api/workspaces", httpapi.Handle(ok, a.listWorkspaces), noStore, user)
	e.GET("/api/agents", httpapi.Handle(ok, a.listAgents), noStore, user)
	a.installationRoutes(e, noStore, user)

	for _, part := range a.Parts {
		part.Routes(e)
	}
}

// taskRoutes are about tasks, their workspaces and their queues.
func (a *API) taskRoutes(e *echo.Echo, noStore, user echo.MiddlewareFunc) {
	const ok, created = http.StatusOK, http.StatusCreated
	e.POST("/api/tasks", httpapi.Handle(created, a.createTask), noStore, user)
	e.GET("/api/tasks", httpapi.Handle(ok, a.listTasks), noStore, user)
	e.GET("/api/tasks/:id", httpapi.Handle(ok, a.getTask), noStore, user)
	e.PATCH("/api/tasks/:id", httpapi.Handle(ok, a.updateTask), noStore, user)
	e.DELETE("/api/tasks/:id", httpapi.Handle(ok, a.deleteTask), noStore, user)
	e.GET("/api/tasks/:id/messages", httpapi.Handle(ok, a.listMessages), noStore, user)
	e.GET("/api/tasks/:id/usage", httpapi.Handle(ok, a.taskUsage), noStore, user)
	e.GET("/api/tasks/:id/only-copies", httpapi.Handle(ok, a.onlyCopies), noStore, user)
	e.GET("/api/tasks/:id/workspace", httpapi.Handle(ok, a.taskWorkspace), noStore, user)
	a.fileRoutes(e, noStore, user)
	e.POST("/api/tasks/:id/commit", httpapi.Handle(ok, a.commit), noStore, user, withActKey)
	e.POST("/api/tasks/:id/discard", httpapi.Handle(ok, a.discard), noStore, user, withActKey)
	e.POST("/api/tasks/:id/fetch", httpapi.Handle(ok, a.fetchRemote), noStore, user, withActKey)
	e.POST("/api/tasks/:id/pull-request", httpapi.Handle(ok, a.pullRequest), noStore, user, withActKey)
	e.POST("/api/tasks/:id/push", httpapi.Handle(ok, a.push, httpapi.OptionalBody()), noStore, user, withActKey)
	e.GET("/api/tasks/:id/queue", httpapi.Handle(ok, a.listQueue), noStore, user)
	e.POST("/api/tasks/:id/queue", httpapi.Handle(created, a.addQueued, httpapi.MaxBody(protocol.MaxPrompt)),
		noStore, user, httpapi.RequestDeadline(protocol.PromptTimeout))
	e.PATCH("/api/tasks/:id/queue", httpapi.Handle(ok, a.changeQueue), noStore, user)
	e.PATCH("/api/tasks/:id/queue/:messageId", httpapi.Handle(ok, a.changeQueued, httpapi.MaxBody(protocol.MaxCheckIn)),
		noStore, user)
	e.DELETE("/api/tasks/:id/queue/:messageId", httpapi.Handle(ok, a.removeQueued), noStore, user)
	e.POST("/api/tasks/:id/queue/:messageId/send", httpapi.Handle(ok, a.sendQueued), noStore, user)
}

// fileRoutes are about files and commands of agents, for messages and to read.
func (a *API) fileRoutes(e *echo.Echo, noStore, user echo.MiddlewareFunc) {
	const ok = http.StatusOK
	e.GET("/api/tasks/:id/paths", httpapi.Handle(ok, a.taskPaths), noStore, user)
	e.GET("/api/tasks/:id/files", httpapi.Handle(ok, a.taskDirectory), noStore, user)
	e.GET("/api/tasks/:id/file", httpapi.Handle(ok, a.taskFile), noStore, user)
	e.GET("/api/tasks/:id/search", httpapi.Handle(ok, a.searchTask), noStore, user)
	e.GET("/api/tasks/:id/shell", httpapi.Describe(a.shell, describedShell), noStore, user)
	e.GET("/api/tasks/:id/commands", httpapi.Handle(ok, a.taskCommands), noStore, user)
	e.GET("/api/paths", httpapi.Handle(ok, a.projectPaths), noStore, user)
}

// accountRoutes are about users, how they sign in, and their API tokens.
func (a *API) accountRoutes(e *echo.Echo, noStore, user echo.MiddlewareFunc) {
	const ok, created = http.StatusOK, http.StatusCreated
	e.POST("/api/auth/login", httpapi.Describe(a.login, describedLogin), noStore)
	e.POST("/api/auth/logout", httpapi.Describe(a.logout, describedLogout), noStore)
	e.GET("/api/auth/me", httpapi.Handle(ok, a.me), noStore, user)
	e.POST("/api/auth/password", httpapi.Describe(a.changePassword, describedPassword), noStore, user)
	e.GET("/api/auth/sign-ins", httpapi.Handle(ok, a.listOwnSignIns), noStore, user)
	e.DELETE("/api/auth/sign-ins/:signInId", httpapi.Handle(ok, a.endOwnSignIn), noStore, user)
	e.GET("/api/auth/second-factor", httpapi.Handle(ok, a.getSecondFactor), noStore, user)
	small := httpapi.MaxBody(maxLogin)
	e.POST("/api/auth/second-factor", httpapi.Handle(created, a.beginSecondFactor, small), noStore, user)
	e.POST("/api/auth/second-factor/confirm", httpapi.Handle(ok, a.confirmSecondFactor, small), noStore, user)
	e.POST("/api/auth/second-factor/recovery-codes", httpapi.Handle(ok, a.renewRecoveryCodes, small), noStore, user)
	e.POST("/api/auth/second-factor/disable", httpapi.Handle(ok, a.disableSecondFactor, small), noStore, user)
	e.GET("/api/users", httpapi.Handle(ok, a.listUsers), noStore, user)
	e.PATCH("/api/users/:id", httpapi.Handle(ok, a.updateUser), noStore, user)
	e.DELETE("/api/users/:id", httpapi.Handle(ok, a.deleteUser), noStore, user)
	e.GET("/api/users/:id/sign-ins", httpapi.Handle(ok, a.listSignIns), noStore, user)
	e.DELETE("/api/users/:id/second-factor", httpapi.Handle(ok, a.resetSecondFactor), noStore, user)
	e.DELETE("/api/users/:id/sign-ins/:signInId", httpapi.Handle(ok, a.endSignIn), noStore, user)
	e.GET("/api/tokens", httpapi.Handle(ok, a.listTokens), noStore, user)
	e.POST("/api/tokens", httpapi.Handle(created, a.createToken), noStore, user)
	e.GET("/api/forge-tokens", httpapi.Handle(ok, a.listForgeTokens), noStore, user)
	e.POST("/api/forge-tokens", httpapi.Handle(created, a.addForgeToken, small), noStore, user)
	e.DELETE("/api/forge-tokens/:id", httpapi.Handle(ok, a.deleteForgeToken), noStore, user)
	e.DELETE("/api/tokens/:id", httpapi.Handle(ok, a.deleteToken), noStore, user)
}

// shareRoutes are about transcripts as documents, links to them, and templates of tasks. Those of readers need no
// caller.
func (a *API) shareRoutes(e *echo.Echo, noStore, user echo.MiddlewareFunc) {
	const ok, created = http.StatusOK, http.StatusCreated
	e.GET("/api/tasks/:id/export", httpapi.Describe(a.exportTask, describedTaskExport), noStore, user)
	e.GET("/api/tasks/:id/shares", httpapi.Handle(ok, a.listTaskShares), noStore, user)
	e.POST("/api/tasks/:id/shares", httpapi.Handle(created, a.createShare, httpapi.OptionalBody()), noStore, user)
	e.GET("/api/shares", httpapi.Handle(ok, a.listShares), noStore, user)
	e.DELETE("/api/shares/:id", httpapi.Handle(ok, a.revokeShare), noStore, user)
	e.GET("/api/templates", httpapi.Handle(ok, a.listTemplates), noStore, user)
	e.POST("/api/templates", httpapi.Handle(created, a.createTemplate), noStore, user)
	e.PUT("/api/templates/:id", httpapi.Handle(ok, a.updateTemplate), noStore, user)
	e.DELETE("/api/templates/:id", httpapi.Handle(ok, a.deleteTemplate), noStore, user)
	e.POST("/api/templates/:id/fill", httpapi.Handle(ok, a.fillTemplate), noStore, user)
	e.GET("/api/shared", httpapi.Describe(a.readShared, describedShared), noStore)
	e.GET("/api/shared/export", httpapi.Describe(a.exportShared, describedSharedExport), noStore)
}

// StreamKinds are the kinds of the routes that answer with a stream, for metrics.
func StreamKinds() map[string]string {
	return map[string]string{
		"/api/agent/stream/:taskId": "relay", "/api/tasks/:id/events": "task-feed", "/api/events": "user-feed",
		"/api/tasks/:id/shell": "shell",
	}
}

// installationRoutes are about the installation, not about a task. Most are for administrators.
func (a *API) installationRoutes(e *echo.Echo, noStore, user echo.MiddlewareFunc) {
	const ok, created = http.StatusOK, http.StatusCreated
	e.GET("/api/hosts", httpapi.Handle(ok, a.listHosts), noStore, user)
	e.POST("/api/hosts", httpapi.Handle(created, a.createHost), noStore, user)
	e.PATCH("/api/hosts/:id", httpapi.Handle(ok, a.updateHost), noStore, user)
	e.DELETE("/api/hosts/:id", httpapi.Handle(ok, a.deleteHost), noStore, user)
	e.GET("/api/hosts/:id/installations", httpapi.Handle(ok, a.listInstallations), noStore, user)
	e.POST("/api/hosts/:id/installations", httpapi.Handle(ok, a.install), noStore, user)
	e.DELETE("/api/hosts/:id/installations/:program", httpapi.Handle(ok, a.cancelInstallation), noStore, user)
	e.GET("/api/announcements", httpapi.Handle(ok, a.listAnnouncements), noStore, user)
	e.POST("/api/announcements", httpapi.Handle(created, a.announce), noStore, user)
	e.DELETE("/api/announcements/:id", httpapi.Handle(ok, a.cancelAnnouncement), noStore, user)
	e.GET("/api/doctor", httpapi.Handle(ok, a.doctor), noStore, user)
	e.GET("/api/audit", httpapi.Handle(ok, a.listAudit), noStore, user)
	e.GET("/api/audit/export", httpapi.Describe(a.exportAudit, describedAuditExport), noStore, user)
	e.GET("/api/orphans", httpapi.Handle(ok, a.listOrphans), noStore, user)
	e.POST("/api/orphans/:sessionId", httpapi.Handle(created, a.adopt), noStore, user)
}

// guards adds the middleware that every request passes. A server on loopback also accepts the
// host names in its own URLs, because a proxy on the same machine forwards requests for them.
func (a *API) guards(e *echo.Echo) {
	var names []string
	for _, own := range []string{a.PublicURL, a.WebhookURL} {
		if u, err := url.Parse(own); err == nil {
			names = append(names, u.Hostname())
		}
	}
	origins := a.AllowedOrigins
	if u, err := url.Parse(a.PublicURL); err == nil && u.Host != "" {
		if own, err := httpapi.ParseOrigins([]string{u.Scheme + "://" + u.Host}); err == nil {
			origins = slices.Concat(own, origins)
		}
	}
	e.Use(
		httpapi.NameAnswers(a.BrokerID),
		httpapi.NameLife(a.life),
		httpapi.HSTS(a.PublicURL),
		httpapi.CORS(httpapi.CORSOptions{AllowedOrigins: a.AllowedOrigins}),
		httpapi.GuardHost(names...),
		httpapi.GuardOrigin(origins...),
		a.console,
	)
}
