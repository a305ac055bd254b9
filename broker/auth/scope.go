package auth

import (
	"bellhop/broker"
	"bellhop/protocol"
)

// Scopes of routes: two that no token carries, and those of tokens.
const (
	anyScope   broker.Scope = "any"  // every token may use the route
	noToken    broker.Scope = "none" // no token may: it needs a sign-in
	tasksRead               = broker.ScopeTasksRead
	tasksWrite              = broker.ScopeTasksWrite
	notebooks               = broker.ScopeNotebooks
	hosts                   = broker.ScopeHosts
	webhooks                = broker.ScopeWebhooks
	admin                   = broker.ScopeAdmin
)

// routeScopes has the scope of every route that needs a caller. A token may not use a route that is not
// listed.
var routeScopes = map[string]broker.Scope{
	"GET /api/auth/me":                            anyScope,
	"POST /api/auth/password":                     noToken,
	"GET /api/auth/second-factor":                 admin,
	"POST /api/auth/second-factor":                noToken,
	"POST /api/auth/second-factor/confirm":        noToken,
	"POST /api/auth/second-factor/recovery-codes": noToken,
	"POST /api/auth/second-factor/disable":        noToken,
	"DELETE /api/users/:id/second-factor":         admin,
	"POST /api/tokens":                            noToken,
	"GET /api/forge-tokens":                       noToken,
	"POST /api/forge-tokens":                      noToken,
	"DELETE /api/forge-tokens/:id":                noToken,
	"GET /api/tokens":                             admin,
	"DELETE /api/tokens/:id":                      admin,
	"GET /api/auth/sign-ins":                      admin,
	"DELETE /api/auth/sign-ins/:signInId":         admin,
	"GET /api/users":                              admin,
	"PATCH /api/users/:id":                        admin,
	"DELETE /api/users/:id":                       admin,
	"GET /api/users/:id/sign-ins":                 admin,
	"DELETE /api/users/:id/sign-ins/:signInId":    admin,
	"GET /api/audit":                              admin,
	"GET /api/audit/export":                       admin,
	"GET /api/doctor":                             admin,
	"GET /api/orphans":                            admin,
	"POST /api/orphans/:sessionId":                admin,
	"POST /api/announcements":                     admin,
	"DELETE /api/announcements/:id":               admin,
	"GET /metrics":                                admin,
	"GET /api/announcements":                      anyScope,
	"GET /api/tasks":                              tasksRead,
	"POST /api/tasks":                             tasksWrite,
	"GET /api/tasks/:id":                          tasksRead,
	"PATCH /api/tasks/:id":                        tasksWrite,
	"DELETE /api/tasks/:id":                       tasksWrite,
	"GET /api/tasks/:id/messages":                 tasksRead,
	"GET /api/tasks/:id/events":                   tasksRead,
	"GET /api/events":                             tasksRead,
	"GET /api/tasks/:id/queue":                    tasksRead,
	"POST /api/tasks/:id/queue":                   tasksWrite,
	"PATCH /api/tasks/:id/queue":                  tasksWrite,
	"PATCH /api/tasks/:id/queue/:messageId":       tasksWrite,
	"DELETE /api/tasks/:id/queue/:messageId":      tasksWrite,
	"POST /api/tasks/:id/queue/:messageId/send":   tasksWrite,
	"POST /api/agent":                             tasksWrite,
	"POST /api/agent/attach":                      tasksWrite, // its stream token can answer and interrupt
	"POST /api/agent/interrupt":                   tasksWrite,
	"POST /api/agent/restart":                     tasksWrite,
	"POST /api/agent/finish":                      tasksWrite,
	"POST /api/agent/diff":                        tasksRead,
	"GET /api/interactions":                       tasksRead,
	"POST /api/interactions/:id":                  tasksWrite,
	"GET /api/agents":                             tasksRead,
	"GET /api/paths":                              tasksRead,
	"GET /api/tasks/:id/paths":                    tasksRead,
	"GET /api/tasks/:id/files":                    tasksRead,
	"GET /api/tasks/:id/file":                     tasksRead,
	"GET /api/tasks/:id/search":                   tasksRead,
	"GET /api/tasks/:id/commands":                 tasksRead,
	"GET /api/tasks/:id/shell":                    noToken,
	"GET /api/workspaces":                         tasksRead,
	"GET /api/tasks/:id/only-copies":              tasksRead,
	"GET /api/tasks/:id/workspace":                tasksRead,
	"GET /api/tasks/:id/usage":                    tasksRead,
	"POST /api/tasks/:id/commit":                  tasksWrite,
	"POST /api/tasks/:id/discard":                 tasksWrite,
	"POST /api/tasks/:id/fetch":                   tasksWrite,
	"POST /api/tasks/:id/push":                    tasksWrite,
	"POST /api/tasks/:id/pull-request":            tasksWrite,
	"GET /api/tasks/:id/export":                   tasksRead,
	"GET /api/tasks/:id/shares":                   tasksRead,
	"POST /api/tasks/:id/shares":                  noToken, // the link outlives the token
	"GET /api/shares":                             tasksRead,
	"DELETE /api/shares/:id":                      tasksWrite,
	"GET /api/templates":                          tasksRead,
	"POST /api/templates":                         tasksWrite,
	"PUT /api/templates/:id":                      tasksWrite,
	"DELETE /api/templates/:id":                   tasksWrite,
	"POST /api/templates/:id/fill":                tasksRead,
	"GET /api/hosts":                              hosts,
	"POST /api/hosts":                             hosts,
	"PATCH /api/hosts/:id":                        hosts,
	"DELETE /api/hosts/:id":                       hosts,

	"GET /api/hosts/:id/installations":             hosts,
	"POST /api/hosts/:id/installations":            hosts,
	"DELETE /api/hosts/:id/installations/:program": hosts,

	"POST /api/coding-agent/notebooks":             notebooks,
	"POST /api/coding-agent/sources/with-context":  notebooks,
	"GET /api/coding-agent/sources":                notebooks,
	"GET /api/coding-agent/sources/:id":            notebooks,
	"PUT /api/coding-agent/sources/:id":            notebooks,
	"DELETE /api/coding-agent/sources/:id":         notebooks,
	"POST /api/coding-agent/verify":                notebooks,
	"GET /api/coding-agent/followups":              notebooks,
	"POST /api/coding-agent/followups/:id/respond": notebooks,
	"POST /api/coding-agent/webhook/register":      notebooks,
	"DELETE /api/coding-agent/webhook":             notebooks,
	"GET /api/notebooks":                           notebooks,
	"GET /api/notebooks/:id":                       notebooks,
	"DELETE /api/notebooks/:id":                    notebooks,
	"GET /api/sources/:id":                         notebooks,
	"DELETE /api/sources/:id":                      notebooks,
	"GET /api/sources/:id/versions":                notebooks,
	"GET /api/sources/:id/versions/:version":       notebooks,
	"GET /api/sources/:id/conversation":            notebooks,
	"POST /api/sources/:id/conversation":           notebooks,
	"POST /api/sources/:id/conversation/read":      notebooks,
	"GET /api/agent-sessions":                      notebooks,
	"GET /api/agent-sessions/:id/icon":             notebooks,
	"POST /api/agent-sessions/:id/disconnect":      notebooks,
	"POST /api/agent-sessions/:id/renew":           notebooks,
	"POST /mcp":                                    notebooks,
	"GET /mcp":                                     notebooks,
	"GET /api/deliveries":                          webhooks,
	"POST /api/deliveries/:id/retry":               webhooks,
	"GET /api/webhooks":                            webhooks,
	"POST /api/webhooks":                           webhooks,
	"DELETE /api/webhooks/:id":                     webhooks,
	"POST /api/webhooks/:id/rotate":                webhooks,
	"POST /api/webhooks/:id/enable":                webhooks,
	"GET /api/notifications":                       webhooks,
	"PUT /api/notifications":                       noToken, // they end with the sign-in of a browser
	"PATCH /api/notifications/:id":                 webhooks,
	"DELETE /api/notifications/:id":                webhooks,
}

// ScopeOfRoute returns the scope of a route such as "GET /api/tasks/:id", "any" or "none"; "" for a route
// that no token may use because it is not listed.
func ScopeOfRoute(route string) broker.Scope { return routeScopes[route] }

// allow returns CodeForbidden if the request's token may not be used for a route. An administrator's
// token keeps the rights of an administrator on the routes of hosts and, with the scope admin, on all routes.
func (a *admitted) allow(route string) error {
	if a.token == nil {
		return nil
	}
	scope := ScopeOfRoute(route)
	switch {
	case scope == "", scope == noToken:
		return &protocol.Error{
			Code: protocol.CodeForbidden, Message: "An API token cannot be used here", Hint: "Sign in to the console",
		}
	case scope != anyScope && !a.token.Has(scope):
		return &protocol.Error{
			Code: protocol.CodeForbidden, Message: "This API token lacks the scope " + string(scope),
			Hint: "Create a token with this scope on the tokens page, or with bellhop tokens create",
		}
	}
	a.caller.Admin = a.caller.Admin && (scope == hosts || a.token.Has(admin))
	return nil
}
