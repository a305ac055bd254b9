package api

import (
	"github.com/labstack/echo/v4"

	"bellhop/protocol"
)

// metrics serves GET /metrics, which shows the whole installation. CodeForbidden: the caller is no
// administrator.
func (a *API) metrics(c echo.Context) error {
	if !a.Auth.Caller(c.Request().Context()).Admin {
		return protocol.Errorf(protocol.CodeForbidden, "Only administrators read the metrics")
	}
	if a.Metrics == nil {
		return echo.ErrNotFound
	}
	a.Metrics.ServeHTTP(c.Response(), c.Request())
	return nil
}
