package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"

	"bellhop/protocol"
)

// ParseProxies parses a configured list of proxies: addresses and CIDRs. variable is the name for
// its errors. A list that contains every address is refused: then any client could choose the
// address that it is logged and limited by.
func ParseProxies(variable string, list []string) ([]netip.Prefix, error) {
	proxies := make([]netip.Prefix, 0, len(list))
	for _, text := range list {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		proxy, ok := parseProxy(text)
		if !ok {
			return nil, &protocol.Error{
				Code: protocol.CodeInvalid, Message: variable + ": not an address or a CIDR: " + text,
				Hint: "Name the proxies, such as 127.0.0.1 or 10.1.0.0/24. All addresses (0.0.0.0/0, ::/0) cannot be trusted.",
			}
		}
		proxies = append(proxies, proxy)
	}
	return proxies, nil
}

func parseProxy(text string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), addr.Zone() == ""
	}
	proxy, err := netip.ParsePrefix(text)
	return proxy.Masked(), err == nil && proxy.Bits() > 0
}

// ClientAddress returns a function that returns the address of a request's client without port.
// If the peer is one of the proxies, the client is the last address of X-Forwarded-For that is not
// a proxy. A request from another peer cannot choose its address.
func ClientAddress(proxies []netip.Prefix) func(*http.Request) string {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect()
	}
	options := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, proxy := range proxies {
		options = append(options, echo.TrustIPRange(&net.IPNet{
			IP: proxy.Addr().AsSlice(), Mask: net.CIDRMask(proxy.Bits(), proxy.Addr().BitLen()),
		}))
	}
	return echo.ExtractIPFromXFFHeader(options...)
}

// ForwardedHost returns a handler that replaces the Host of a request from one of the proxies by
// its X-Forwarded-Host, the name that the proxy's client used. Of several values the last counts,
// which the proxy itself has set. X-Forwarded-Host of another peer is ignored.
func ForwardedHost(proxies []netip.Prefix, next http.Handler) http.Handler {
	if len(proxies) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host := forwardedHost(r); host != "" && isProxy(proxies, r.RemoteAddr) {
			forwarded := *r
			forwarded.Host = host
			r = &forwarded
		}
		next.ServeHTTP(w, r)
	})
}

func forwardedHost(r *http.Request) string {
	all := strings.Split(strings.Join(r.Header.Values("X-Forwarded-Host"), ","), ",")
	return strings.TrimSpace(all[len(all)-1])
}

func isProxy(proxies []netip.Prefix, remote string) bool {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	for _, proxy := range proxies {
		if proxy.Contains(peer.Addr().Unmap()) {
			return true
		}
	}
	return false
}

// hstsValue is one year for this name alone: other names of the domain are not Bellhop's.
const hstsValue = "max-age=31536000"

// HSTS makes browsers use https only (RFC 6797), if publicURL is an https URL. On plain http,
// which proxies and probes use, browsers ignore the header.
func HSTS(publicURL string) echo.MiddlewareFunc {
	secure := strings.HasPrefix(strings.ToLower(publicURL), "https://")
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		if !secure {
			return next
		}
		return func(c echo.Context) error {
			c.Response().Header().Set(echo.HeaderStrictTransportSecurity, hstsValue)
			return next(c)
		}
	}
}
