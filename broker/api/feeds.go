package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/protocol"
)

func (a *API) taskFeed(c echo.Context) error {
	userID, taskID := a.Auth.Caller(c.Request().Context()).UserID, c.Param("id")
	allowed := a.stillAllowed(c.Request(), func(ctx context.Context, _ broker.Caller) error {
		_, err := a.Tasks.Get(ctx, userID, taskID, broker.Await{})
		return err
	})
	leave, err := a.Quotas.OpenFeed(userID)
	if err != nil {
		return err
	}
	defer leave()
	return a.Feed.ServeTask(c.Response(), withoutBudget(c.Request()), userID, taskID, allowed)
}

func (a *API) userFeed(c echo.Context) error {
	userID := a.Auth.Caller(c.Request().Context()).UserID
	allowed := a.stillAllowed(c.Request(), func(context.Context, broker.Caller) error { return nil })
	leave, err := a.Quotas.OpenFeed(userID)
	if err != nil {
		return err
	}
	defer leave()
	return a.Feed.ServeUser(c.Response(), withoutBudget(c.Request()), userID, allowed)
}

// withoutBudget removes the limit on how long one request may wait for the
// database. All queries of a stream that is open for hours would exceed it.
func withoutBudget(r *http.Request) *http.Request {
	return r.WithContext(database.WithoutBudget(r.Context()))
}

// stillAllowed returns a function that checks the credentials of a feed again.
// checkAccess checks what the caller, as they are now, may do with the feed's task. The function returns true while
// the database is unavailable.
func (a *API) stillAllowed(
	r *http.Request, checkAccess func(context.Context, broker.Caller) error,
) func(context.Context) bool {
	before := a.Auth.Caller(r.Context())
	return func(ctx context.Context) bool {
		now, err := a.Auth.Authenticate(r.WithContext(ctx))
		if err == nil && now.UserID != before.UserID {
			return false
		}
		if err == nil {
			err = checkAccess(ctx, now)
		}
		switch protocol.CodeOf(err) {
		case protocol.CodeUnauthorized, protocol.CodeForbidden, protocol.CodeNotFound, protocol.CodeGone:
			return false
		}
		return true
	}
}
