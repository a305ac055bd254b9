package httpapi

import (
	"github.com/labstack/echo/v4"

	"bellhop/protocol"
)

// NameLife lets every response name the life of this server; "" names none.
func NameLife(life func() string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if named := life(); named != "" {
				c.Response().Header().Set(protocol.HeaderLife, named)
			}
			return next(c)
		}
	}
}
