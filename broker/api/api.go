package api

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/internal/httpapi"
)

// API serves the broker's routes. The fields down to Ready, and Log, are
// required.
type API struct {
	Auth         Auth
	Tasks        *broker.Tasks
	Sessions     *broker.Sessions
	Interactions *broker.Interactions
	Hosts        *broker.Hosts
	Feed         Feed
	Webhook      Webhook
	Parts        []Part  // other resources of the same server
	Console      Console // answers what no route does; nil: nothing

	Ready          func(ctx context.Context) error // does the database answer
	PublicURL      string                          // where browsers see the broker
	WebhookURL     string                          // where hosts see it; "" = PublicURL
	AllowedOrigins []string                        // as httpapi.ParseOrigins returns them
	Log            *slog.Logger

	once  sync.Once
	alive context.Context // of relayed streams
	end   context.CancelFunc
}

// Auth says who is calling and signs in; broker/auth has it.
type Auth interface {
	// Middleware lets known callers pass and puts them into the context.
	Middleware(next echo.HandlerFunc) echo.HandlerFunc
	Authenticate(r *http.Request) (broker.Caller, error)
	Caller(ctx context.Context) broker.Caller
	Me(ctx context.Context) (*broker.User, error)

	// SignIn, SignInByLink and SignOut set the cookie on w.
	SignIn(w http.ResponseWriter, r *http.Request, address, email, password string) (*broker.User, error)
	SignInByLink(w http.ResponseWriter, r *http.Request, address, link string) (*broker.User, error)
	SignOut(w http.ResponseWriter, r *http.Request) error

	CreateToken(ctx context.Context, t *broker.APIToken) (plain string, err error)
	ListTokens(ctx context.Context, userID string) ([]broker.APIToken, error)
	DeleteToken(ctx context.Context, userID, id string) error
}

// Feed serves the event streams; broker/feed has it. An error comes before the
// first byte. allowed is asked every few seconds whether the reader may go on.
type Feed interface {
	ServeTask(w http.ResponseWriter, r *http.Request, userID, taskID string, allowed func(context.Context) bool) error
	ServeUser(w http.ResponseWriter, r *http.Request, userID string, allowed func(context.Context) bool) error
}

// Webhook takes the events of agent hosts; webhook/inbound has it.
type Webhook interface {
	Handle(c echo.Context) error
	Renew(c echo.Context) error
}

// Console serves the files and pages of the console, and reports whether it had
// one; package web has it.
type Console interface {
	Serve(w http.ResponseWriter, r *http.Request) bool
}

// Part has routes of its own; it guards them itself.
type Part interface{ Routes(e *echo.Echo) }

// Handler is an HTTP server's handler with every route.
func (a *API) Handler() http.Handler {
	e := httpapi.New(httpapi.Options{Log: a.Log})
	a.Routes(e)
	return underBase(BasePath(a.PublicURL), e)
}
