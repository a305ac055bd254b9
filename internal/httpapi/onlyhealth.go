package httpapi

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"bellhop/protocol"
)

// OnlyHealth is the handler of a server that cannot serve anything else: /healthz
// is 200, since a restart would not help, and every other request is refused.
func OnlyHealth(refusal *protocol.Error, log *slog.Logger) http.Handler {
	e := New(Options{Log: log})
	e.Any("/*", func(c echo.Context) error {
		if strings.HasSuffix(c.Request().URL.Path, "/healthz") {
			return c.JSON(http.StatusOK, protocol.Readiness{Status: "ok"})
		}
		return refusal
	})
	return e
}
