package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
)

// API serves the routes. All fields but Rotating and Subjects are required.
type API struct {
	Service *outbound.Service
	User    echo.MiddlewareFunc              // admits signed-in users only
	UserID  func(ctx context.Context) string // the id of the user that User admitted
	// Rotating runs rotate, and adds the rotation of a webhook's secret to the audit log in the same
	// transaction. nil: rotations are not recorded.
	Rotating func(ctx context.Context, webhookID string, rotate func(ctx context.Context) error) error
	// Subjects describes deliveries, by their kind.
	Subjects map[string]Describe
}

// Describe returns the subjects of a user's messages by id. It omits messages that are gone.
type Describe func(ctx context.Context, userID string, messageIDs []string) (map[string]protocol.DeliverySubject, error)

// Routes registers every route on e, which httpapi.New made.
func (a *API) Routes(e *echo.Echo) {
	const ok, created = http.StatusOK, http.StatusCreated
	noStore, user := httpapi.NoStore(), a.User

	e.GET("/api/deliveries", httpapi.Handle(ok, a.listDeliveries), noStore, user)
	e.POST("/api/deliveries/:id/retry", httpapi.Handle(ok, a.retry), noStore, user)

	e.GET("/api/webhooks", httpapi.Handle(ok, a.listWebhooks), noStore, user)
	e.POST("/api/webhooks", httpapi.Handle(created, a.createWebhook), noStore, user)
	e.DELETE("/api/webhooks/:id", httpapi.Handle(ok, a.deleteWebhook), noStore, user)
	e.POST("/api/webhooks/:id/rotate", httpapi.Handle(ok, a.rotate, httpapi.OptionalBody()), noStore, user)
	e.POST("/api/webhooks/:id/enable", httpapi.Handle(ok, a.enable), noStore, user)
}
