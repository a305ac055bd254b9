package app

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/labstack/echo/v4"

	"bellhop/broker/auth"
)

// openRoutes are the routes of parts that need no caller.
var openRoutes = []string{
	"POST /register", "GET /.well-known/oauth-protected-resource", "GET /.well-known/oauth-protected-resource/mcp",
}

// The routes of broker/api are compared there.
func TestEveryRouteOfAPartHasAScope(t *testing.T) {
	silent := BrokerConfig{StoreConfig: StoreConfig{Log: slog.New(slog.DiscardHandler)}, Version: "v"}
	e := echo.New()
	for _, part := range (&notebooks{}).apiParts(&Admin{Auth: auth.New(auth.Options{}), config: silent}) {
		part.Routes(e)
	}
	if len(e.Routes()) < 30 {
		t.Errorf("only %d routes", len(e.Routes()))
	}
	for _, r := range e.Routes() {
		route := r.Method + " " + r.Path
		if isOpen := slices.Contains(openRoutes, route); isOpen == (auth.ScopeOfRoute(route) != "") {
			t.Errorf("%s has the scope %q", route, auth.ScopeOfRoute(route))
		}
	}
}
