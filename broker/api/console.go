package api

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/protocol"
)

// console answers what no route does. Names of the API are never pages.
func (a *API) console(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := next(c)
		if a.Console == nil || !errors.Is(err, echo.ErrNotFound) || reserved(c.Request().URL.Path) {
			return err
		}
		if a.Console.Serve(c.Response(), c.Request()) {
			return nil
		}
		return err
	}
}

func reserved(path string) bool {
	path = strings.TrimLeft(path, "/") + "/"
	return strings.HasPrefix(path, "api/") || strings.HasPrefix(path, "mcp/")
}

// Visitor tells who asks for the console's page, and the agent hosts that they
// stream from: none for strangers, and none while the database does not answer,
// when the console goes through the broker.
func Visitor(auth Auth, sessions *broker.Sessions) func(r *http.Request) (signedIn bool, origins []string) {
	return func(r *http.Request) (bool, []string) {
		caller, err := auth.Authenticate(r)
		if err != nil {
			return protocol.CodeOf(err) != protocol.CodeUnauthorized, nil // else the page asks, and hears why not
		}
		origins, err := sessions.StreamOrigins(r.Context(), caller.UserID)
		if err != nil {
			return true, nil
		}
		return true, origins
	}
}

// BasePath is the path of the broker's public URL, without a slash at its end.
func BasePath(publicURL string) string {
	u, err := url.Parse(publicURL)
	if err != nil {
		return ""
	}
	return strings.TrimRight(u.Path, "/")
}

// underBase lets a proxy in front keep the public URL's path or cut it off.
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
				target.RawPath = "" // the base in other escapes: routes go by the path
			}
			inner.URL = &target
			r = &inner
		}
		handler.ServeHTTP(w, r)
	})
}
