package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// icon serves the image of an agent to its user's browser, which may keep it for an hour. The
// header fields keep the browser from taking the bytes for anything but an image.
func (a *API) icon(c echo.Context) error {
	ctx := c.Request().Context()
	icon, err := a.Notebooks.Icon(ctx, a.userID(ctx), c.Param("id"))
	if err != nil {
		return err
	}
	header := c.Response().Header()
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "private, max-age=3600")
	tag := `"` + icon.Digest + `"`
	header.Set("ETag", tag)
	if c.Request().Header.Get("If-None-Match") == tag {
		return c.NoContent(http.StatusNotModified)
	}
	return c.Blob(http.StatusOK, icon.Type, icon.Data)
}
