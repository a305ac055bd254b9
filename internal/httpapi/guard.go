package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"bellhop/protocol"
)

// GuardHost protects a server on loopback from DNS rebinding (reliability AUTH-9): the Host of
// a request that arrived on a loopback address must be a loopback address, localhost or one of
// the allowed names (without port). Requests on other addresses are not checked, and neither are
// health checks, which reveal nothing and for which probes use any name. Behind a proxy, Host is
// the name that ForwardedHost has accepted.
func GuardHost(allowed ...string) echo.MiddlewareFunc {
	names := make([]string, 0, len(allowed))
	for _, name := range allowed {
		if name != "" {
			names = append(names, hostName(name))
		}
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			if host := hostName(r.Host); onLoopback(r) && !isHealthCheck(r) && !isLoopback(host) &&
				!slices.Contains(names, host) {
				return &protocol.Error{
					Code: protocol.CodeForbidden, Message: "This server does not answer for that Host",
					Hint: "Use localhost, or set the server's public URL to the name you use. A proxy must pass that name as Host " +
						"(nginx: proxy_set_header Host $host), or as X-Forwarded-Host if its address is a trusted proxy of the server",
				}
			}
			return next(c)
		}
	}
}

// GuardOrigin is the second part of AUTH-9: on a loopback address a request with an Origin must
// come from a loopback page, from this server's own page, or from one of the allowed origins
// (as ParseOrigins returns them).
func GuardOrigin(allowed ...string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			for _, origin := range r.Header.Values("Origin") {
				if onLoopback(r) && !slices.Contains(allowed, origin) && !localOrigin(r, origin) {
					return &protocol.Error{
						Code: protocol.CodeForbidden, Message: "This server does not answer pages of that origin",
						Hint: "Add the origin to the server's allowed origins",
					}
				}
			}
			return next(c)
		}
	}
}

// isHealthCheck reports whether the request is one of the two that everyone may make.
func isHealthCheck(r *http.Request) bool {
	return r.URL.Path == "/healthz" || r.URL.Path == "/readyz"
}

func localOrigin(r *http.Request, origin string) bool {
	_, host, ok := strings.Cut(origin, "://")
	return ok && (strings.EqualFold(host, r.Host) || isLoopback(hostName(host)))
}

func onLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.IP.IsLoopback()
	}
	local, err := netip.ParseAddrPort(addr.String())
	return err == nil && local.Addr().Unmap().IsLoopback()
}

// hostName returns a Host header without port, brackets and final dot.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func isLoopback(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
