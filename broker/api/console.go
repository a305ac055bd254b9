package api

import (
	"embed"
	"net/http"

	"github.com/labstack/echo/v4"
)

//go:embed console
var consoleFiles embed.FS

// consolePolicy lets the page load its own two files and call its own API.
const consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// consoleFile panics on a name that is not embedded: found when routes are registered.
func consoleFile(name, contentType string) echo.HandlerFunc {
	content, err := consoleFiles.ReadFile("console/" + name)
	if err != nil {
		panic(err)
	}
	return func(c echo.Context) error {
		header := c.Response().Header()
		header.Set("Content-Security-Policy", consolePolicy)
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-cache")
		return c.Blob(http.StatusOK, contentType, content)
	}
}
