package api

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// console serves the paths without a route, except those below the API's prefixes.
func (a *API) console(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := next(c)
		if a.Console == nil || !errors.Is(err, echo.ErrNotFound) || reserved(c.Request().URL.Path) {
			return err
		}
		if a.movesBrowser(c.Request()) {
			return a.moveBrowser(c)
		}
		if a.Console.Serve(c.Response(), c.Request()) {
			return nil
		}
		return err
	}
}

// movesBrowser reports whether a browser opens a page of a console on this machine at another name than its own.
func (a *API) movesBrowser(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		httpapi.HasConsoleName(a.PublicURL) && httpapi.MayMove(r)
}

// moveBrowser redirects a browser to the same page at the console's own name, at the port that the browser used. It
// ends the session of the cookie that the browser has here, because the browser sends it to other ports too.
func (a *API) moveBrowser(c echo.Context) error {
	r := c.Request()
	if err := a.Auth.SignOut(c.Response(), r, c.RealIP()); err != nil {
		a.Log.WarnContext(r.Context(), "a session at a name that other ports share has not ended", "err", err)
	}
	base, query := url.URL{Path: BasePath(a.PublicURL)}, ""
	if r.URL.RawQuery != "" {
		query = "?" + r.URL.RawQuery
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.Redirect(http.StatusFound,
		"http://"+httpapi.ConsoleHost(r.Host)+base.EscapedPath()+r.URL.EscapedPath()+query)
}

func reserved(path string) bool {
	path = strings.TrimLeft(path, "/") + "/"
	return strings.HasPrefix(path, "api/") || strings.HasPrefix(path, "mcp/")
}

// Visitor returns a function that reports whether the visitor of the console's page
// is signed in, and the origins of the agent hosts that the page may stream from.
// It returns no origins for visitors without a session, and none while the database
// is unavailable; the console then uses the relay.
func Visitor(auth Auth, sessions *broker.Sessions) func(r *http.Request) (signedIn bool, origins []string) {
	return func(r *http.Request) (bool, []string) {
		caller, err := auth.Authenticate(r)
		if err != nil {
			// After other errors the page calls the API and shows the error.
			return protocol.CodeOf(err) != protocol.CodeUnauthorized, nil
		}
		origins, err := sessions.StreamOrigins(r.Context(), caller.UserID)
		if err != nil {
			return true, nil
		}
		return true, origins
	}
}

// BasePath returns the path of the broker's public URL, without a trailing slash.
func BasePath(publicURL string) string {
	u, err := url.Parse(publicURL)
	if err != nil {
		return ""
	}
	return strings.TrimRight(u.Path, "/")
}

// underBase serves requests with and without the public URL's path, because a proxy
// in front of the broker may keep or remove it.
func underBase(base string, handler http.Handler) http.Handler {
	if base == "" {
		return handler
	}
	escaped := (&url.URL{Path: base}).EscapedPath()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest, under := strings.CutPrefix(r.URL.Path, base); under && strings.HasPrefix(rest, "/") {
			inner, target := *r, *r.URL
			target.Path = rest
			if raw, plain := strings.CutPrefix(target.RawPath, escaped); plain {
				target.RawPath = raw
			} else {
				target.RawPath = "" // the base may be escaped in another way: route by the decoded path
			}
			inner.URL = &target
			r = &inner
		}
		handler.ServeHTTP(w, r)
	})
}
