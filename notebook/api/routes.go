package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
	"bellhop/notebook"
	"bellhop/protocol"
)

// maxCode caps a body with code: 512 KiB plus the overhead of JSON escaping.
const maxCode = 4 << 20

// API serves the routes. All fields are required.
type API struct {
	Notebooks *notebook.Service
	User      echo.MiddlewareFunc // admits users only
	Agent     echo.MiddlewareFunc // admits users and their agents
	Caller    func(ctx context.Context) notebook.Caller
}

// Routes registers every route on e.
func (a *API) Routes(e *echo.Echo) {
	const ok, created = http.StatusOK, http.StatusCreated
	noStore, user := httpapi.NoStore(), a.User
	agent := func(next echo.HandlerFunc) echo.HandlerFunc { return explainToken(a.Agent(next)) }
	code := httpapi.MaxBody(maxCode)

	e.POST("/api/coding-agent/notebooks", httpapi.Handle(ok, a.createNotebook, httpapi.Accepted(createdOrFound)),
		noStore, agent)
	e.POST("/api/coding-agent/sources/with-context", httpapi.Handle(created, a.save, code), noStore, agent)
	e.GET("/api/coding-agent/sources", httpapi.Handle(ok, a.agentSources), noStore, agent)
	e.GET("/api/coding-agent/sources/:id", httpapi.Handle(ok, a.agentSource), noStore, agent)
	e.PUT("/api/coding-agent/sources/:id", httpapi.Handle(ok, a.updateSource, code), noStore, agent)
	e.DELETE("/api/coding-agent/sources/:id", httpapi.Handle(ok, a.deleteAgentSource), noStore, agent)
	e.POST("/api/coding-agent/verify", httpapi.Handle(ok, a.verify, code), noStore, agent)
	e.GET("/api/coding-agent/followups", httpapi.Handle(ok, a.followups), noStore, agent)
	e.POST("/api/coding-agent/followups/:id/respond", httpapi.Handle(ok, a.respond, code), noStore, agent)
	e.POST("/api/coding-agent/webhook/register", httpapi.Handle(ok, a.registerWebhook), noStore, agent)
	e.DELETE("/api/coding-agent/webhook", httpapi.Handle(ok, a.removeWebhook), noStore, agent)

	e.GET("/api/notebooks", httpapi.Handle(ok, a.listNotebooks), noStore, user)
	e.GET("/api/notebooks/:id", httpapi.Handle(ok, a.getNotebook), noStore, user)
	e.DELETE("/api/notebooks/:id", httpapi.Handle(ok, a.deleteNotebook), noStore, user)
	e.GET("/api/sources/:id", httpapi.Handle(ok, a.getSource), noStore, user)
	e.DELETE("/api/sources/:id", httpapi.Handle(ok, a.deleteSource), noStore, user)
	e.GET("/api/sources/:id/versions", httpapi.Handle(ok, a.listVersions), noStore, user)
	e.GET("/api/sources/:id/versions/:version", httpapi.Handle(ok, a.getVersion), noStore, user)
	e.GET("/api/sources/:id/conversation", httpapi.Handle(ok, a.getConversation), noStore, user)
	e.POST("/api/sources/:id/conversation", httpapi.Handle(created, a.ask), noStore, user)
	e.POST("/api/sources/:id/conversation/read", httpapi.Handle(ok, a.markRead), noStore, user)
	e.GET("/api/agent-sessions", httpapi.Handle(ok, a.listSessions), noStore, user)
	e.GET("/api/agent-sessions/:id/icon", httpapi.Describe(a.icon, httpapi.Endpoint{Media: "image/*"}), user)
	e.POST("/api/agent-sessions/:id/disconnect", httpapi.Handle(ok, a.disconnect), noStore, user)
	e.POST("/api/agent-sessions/:id/renew", httpapi.Handle(ok, a.renew), noStore, user)
}

// explainToken adds to a 401 how an agent gets a token.
func explainToken(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := next(c)
		var e *protocol.Error
		if errors.As(err, &e) && e.Code == protocol.CodeUnauthorized && e.Hint == "" {
			explained := *e
			explained.Hint = notebook.TokenHint
			return &explained
		}
		return err
	}
}

func createdOrFound(r *notebook.CreateResponse) int {
	if r.Created {
		return http.StatusCreated
	}
	return http.StatusOK
}
