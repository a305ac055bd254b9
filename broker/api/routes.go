package api

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// Routes registers every route on e, which must come from httpapi.New. This list
// and those of Parts are the complete API. Groups have no middleware, because Echo
// would also run it for unknown routes.
func (a *API) Routes(e *echo.Echo) {
	a.guards(e)
	noStore, user := httpapi.NoStore(), a.Auth.Middleware
	const ok, created = http.StatusOK, http.StatusCreated

	e.GET("/healthz", httpapi.Handle(ok, a.healthz))
	e.GET("/readyz", httpapi.Handle(ok, a.readyz))

	e.POST("/api/agent/webhook", a.Webhook.Handle, noStore)
	e.POST("/api/agent/webhook/renew", a.Webhook.Renew, noStore)

	e.POST("/api/auth/login", a.login, noStore)
	e.POST("/api/auth/logout", a.logout, noStore)
	e.GET("/api/auth/me", httpapi.Handle(ok, a.me), noStore, user)
	e.GET("/api/tokens", httpapi.Handle(ok, a.listTokens), noStore, user)
	e.POST("/api/tokens", httpapi.Handle(created, a.createToken), noStore, user)
	e.DELETE("/api/tokens/:id", httpapi.Handle(ok, a.deleteToken), noStore, user)

	e.POST("/api/tasks", httpapi.Handle(created, a.createTask), noStore, user)
	e.GET("/api/tasks", httpapi.Handle(ok, a.listTasks), noStore, user)
	e.GET("/api/tasks/:id", httpapi.Handle(ok, a.getTask), noStore, user)
	e.PATCH("/api/tasks/:id", httpapi.Handle(ok, a.updateTask), noStore, user)
	e.DELETE("/api/tasks/:id", httpapi.Handle(ok, a.deleteTask), noStore, user)
	e.GET("/api/tasks/:id/messages", httpapi.Handle(ok, a.listMessages), noStore, user)
	e.GET("/api/tasks/:id/events", a.taskFeed, user)
	e.GET("/api/events", a.userFeed, user)

	e.POST("/api/agent", httpapi.Handle(ok, a.checkIn, httpapi.MaxBody(protocol.MaxCheckIn)), noStore, user)
	e.POST("/api/agent/attach", httpapi.Handle(ok, a.attach), noStore, user)
	e.POST("/api/agent/interrupt", httpapi.Handle(ok, a.interrupt), noStore, user)
	e.POST("/api/agent/finish", httpapi.Handle(ok, a.finish), noStore, user)
	e.POST("/api/agent/stream/:taskId", a.relay, noStore, httpapi.RequestDeadline(protocol.PromptTimeout))
	e.GET("/api/agent/stream/:taskId", a.relay, noStore)
	e.POST("/api/agent/diff", httpapi.Handle(ok, a.diff), noStore, user)
	e.GET("/api/interactions", httpapi.Handle(ok, a.listInteractions), noStore, user)
	e.POST("/api/interactions/:id", httpapi.Handle(ok, a.answerInteraction), noStore, user)

	e.GET("/api/agents", httpapi.Handle(ok, a.listAgents), noStore, user)
	e.GET("/api/hosts", httpapi.Handle(ok, a.listHosts), noStore, user)
	e.POST("/api/hosts", httpapi.Handle(created, a.createHost), noStore, user)
	e.PATCH("/api/hosts/:id", httpapi.Handle(ok, a.updateHost), noStore, user)
	e.DELETE("/api/hosts/:id", httpapi.Handle(ok, a.deleteHost), noStore, user)
	e.GET("/api/doctor", httpapi.Handle(ok, a.doctor), noStore, user)
	e.GET("/api/orphans", httpapi.Handle(ok, a.listOrphans), noStore, user)
	e.POST("/api/orphans/:sessionId", httpapi.Handle(created, a.adopt), noStore, user)

	for _, part := range a.Parts {
		part.Routes(e)
	}
}

// guards makes a server on loopback also accept the host names in its own URLs,
// because a proxy on the same machine forwards requests for them.
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
		httpapi.HSTS(a.PublicURL),
		httpapi.CORS(httpapi.CORSOptions{AllowedOrigins: a.AllowedOrigins}),
		httpapi.GuardHost(names...),
		httpapi.GuardOrigin(origins...),
		a.console,
	)
}
