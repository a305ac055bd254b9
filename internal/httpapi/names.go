package httpapi

import (
	"github.com/labstack/echo/v4"

	"bellhop/internal/requestid"
	"bellhop/protocol"
)

// NameAnswers lets every response repeat the name that its request has, and name the broker unless brokerID is "". So
// the sender knows the response from one of a gateway, or to another request (docs/protocol.md, "Whose answer it is").
func NameAnswers(brokerID string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			header := c.Response().Header()
			if brokerID != "" {
				header.Set(protocol.HeaderBroker, brokerID)
			}
			if id := c.Request().Header.Get(protocol.HeaderRequest); requestid.Valid(id) {
				header.Set(protocol.HeaderRequest, id)
			}
			return next(c)
		}
	}
}
