package app

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/labstack/echo/v4"

	"bellhop/broker/auth"
	"bellhop/internal/app/apitable"
)

// openRoutes are the routes of parts that need no caller.
var openRoutes = []string{
	"POST /register", "GET /.well-known/oauth-protected-resource", "GET /.well-known/oauth-protected-resource/mcp",
}

// partRoutes returns the routes of the parts that a broker adds to broker/api.
func partRoutes() []*echo.Route {
	silent := BrokerConfig{StoreConfig: StoreConfig{Log: slog.New(slog.DiscardHandler), Version: "v"}}
	e := echo.New()
	for _, part := range (&notebooks{}).apiParts(&Admin{Auth: auth.New(auth.Options{}), config: silent}) {
		part.Routes(e)
	}
	return e.Routes()
}

// The routes of broker/api are compared there.
func TestEveryRouteOfAPartHasAScope(t *testing.T) {
	t.Parallel()
	routes := partRoutes()
	if len(routes) < 30 {
		t.Errorf("only %d routes", len(routes))
	}
	for _, r := range routes {
		route := r.Method + " " + r.Path
		if isOpen := slices.Contains(openRoutes, route); isOpen == (auth.ScopeOfRoute(route) != "") {
			t.Errorf("%s has the scope %q", route, auth.ScopeOfRoute(route))
		}
	}
}

// The document is made from the types of the parts, not from the parts of a running broker.
func TestEveryRouteOfAPartIsDocumented(t *testing.T) {
	t.Parallel()
	document, err := apitable.Broker()
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, r := range document.Routes {
		documented[r.Method+" "+r.Path] = true
	}
	for _, r := range partRoutes() {
		if route := r.Method + " " + r.Path; !documented[route] {
			t.Errorf("%s is in no OpenAPI document: add its part to Broker in internal/app/apitable", route)
		}
	}
}
