package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"bellhop/internal/database"
	"bellhop/protocol"
)

func (a *API) taskFeed(c echo.Context) error {
	userID, taskID := a.Auth.Caller(c.Request().Context()).UserID, c.Param("id")
	allowed := a.stillAllowed(c.Request(), func(ctx context.Context) error {
		_, err := a.Tasks.Get(ctx, userID, taskID)
		return err
	})
	return a.Feed.ServeTask(c.Response(), outliving(c.Request()), userID, taskID, allowed)
}

func (a *API) userFeed(c echo.Context) error {
	userID := a.Auth.Caller(c.Request().Context()).UserID
	allowed := a.stillAllowed(c.Request(), func(context.Context) error { return nil })
	return a.Feed.ServeUser(c.Response(), outliving(c.Request()), userID, allowed)
}

// outliving returns the request of a stream without the database limit of one
// request, which the short queries of many hours would use up.
func outliving(r *http.Request) *http.Request {
	return r.WithContext(database.WithoutBudget(r.Context()))
}

// stillAllowed returns a function that checks the credentials of a feed again, and
// with reach the access to its task. It returns true while the database is
// unavailable.
func (a *API) stillAllowed(r *http.Request, reach func(context.Context) error) func(context.Context) bool {
	before := a.Auth.Caller(r.Context())
	return func(ctx context.Context) bool {
		now, err := a.Auth.Authenticate(r.WithContext(ctx))
		if err == nil && now.UserID != before.UserID {
			return false
		}
		if err == nil {
			err = reach(ctx)
		}
		switch protocol.CodeOf(err) {
		case protocol.CodeUnauthorized, protocol.CodeForbidden, protocol.CodeNotFound, protocol.CodeGone:
			return false
		}
		return true
	}
}
