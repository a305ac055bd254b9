// Package api serves the routes about notifications. It does not know how they are sent.
package api

import (
	"context"
	"net/http"
	"reflect"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
	"bellhop/protocol"
	"bellhop/webhook/outbound/notification"
)

// API serves the routes. All fields are required.
type API struct {
	Service *notification.Service
	User    echo.MiddlewareFunc              // admits signed-in users only
	UserID  func(ctx context.Context) string // of the caller that User admitted
	SignIn  func(ctx context.Context) string // of the caller; "" for an API token
}

// Routes registers every route on e, which httpapi.New made.
func (a *API) Routes(e *echo.Echo) {
	const ok = http.StatusOK
	noStore, user := httpapi.NoStore(), a.User
	e.GET("/api/notifications", httpapi.Handle(ok, a.list), noStore, user)
	e.PUT("/api/notifications", httpapi.Describe(a.subscribe, describedSubscription), noStore, user)
	e.PATCH("/api/notifications/:id", httpapi.Handle(ok, a.choose), noStore, user)
	e.DELETE("/api/notifications/:id", httpapi.Handle(ok, a.remove), noStore, user)
}

type listResponse struct {
	PublicKey     string                              `json:"publicKey"` // the applicationServerKey of subscriptions
	Subscriptions []protocol.NotificationSubscription `json:"subscriptions"`
}

type keys struct {
	P256dh string `json:"p256dh"`
	Auth   string `json:"auth"`
}

type subscribeRequest struct {
	Endpoint string                       `json:"endpoint"`
	Keys     keys                         `json:"keys"`
	Events   []protocol.NotificationEvent `json:"events,omitempty"` // absent: all, or what the browser had before
}

type chooseRequest struct {
	ID     string                       `param:"id" json:"-"`
	Events []protocol.NotificationEvent `json:"events"`
}

type subscriptionRequest struct {
	ID string `param:"id" json:"-"`
}

type subscriptionResponse struct {
	Subscription protocol.NotificationSubscription `json:"subscription"`
}

func (a *API) list(ctx context.Context, _ *struct{}) (*listResponse, error) {
	found, err := a.Service.List(ctx, a.UserID(ctx))
	if err != nil {
		return nil, err
	}
	list := make([]protocol.NotificationSubscription, len(found))
	for i := range found {
		list[i] = notification.View(&found[i], a.SignIn(ctx))
	}
	return &listResponse{PublicKey: a.Service.Identity.PublicKey(), Subscriptions: list}, nil
}

var describedSubscription = httpapi.Endpoint{
	Bodies: []reflect.Type{reflect.TypeFor[subscribeRequest]()}, Response: reflect.TypeFor[subscriptionResponse](),
}

func (a *API) subscribe(c echo.Context) error {
	browser := c.Request().UserAgent()
	return httpapi.Handle(http.StatusOK, func(ctx context.Context, r *subscribeRequest) (*subscriptionResponse, error) {
		e, err := a.Service.Subscribe(ctx, a.UserID(ctx), a.SignIn(ctx), browser, notification.Subscription{
			Endpoint: r.Endpoint, P256dh: r.Keys.P256dh, Auth: r.Keys.Auth, Events: r.Events,
		})
		if err != nil {
			return nil, err
		}
		return &subscriptionResponse{notification.View(e, a.SignIn(ctx))}, nil
	})(c)
}

func (a *API) choose(ctx context.Context, r *chooseRequest) (*subscriptionResponse, error) {
	e, err := a.Service.Choose(ctx, a.UserID(ctx), r.ID, r.Events)
	if err != nil {
		return nil, err
	}
	return &subscriptionResponse{notification.View(e, a.SignIn(ctx))}, nil
}

func (a *API) remove(ctx context.Context, r *subscriptionRequest) (*protocol.SuccessResponse, error) {
	if err := a.Service.Remove(ctx, a.UserID(ctx), r.ID); err != nil {
		return nil, err
	}
	return &protocol.SuccessResponse{Success: true}, nil
}
