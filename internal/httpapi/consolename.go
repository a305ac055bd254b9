package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// ConsoleName is the host name at which browsers open the console of a broker on this machine. A browser sends a
// cookie to all ports of a host name. Other programs of the machine serve at 127.0.0.1 and localhost, so the console's
// cookie must be at another name. Programs need not resolve it: they use 127.0.0.1.
const ConsoleName = "bellhop.localhost"

// BrowserURL returns the URL at which browsers open the console: the broker's public URL, with ConsoleName if it is an
// http URL of this machine.
func BrowserURL(publicURL string) string {
	u, err := url.Parse(publicURL)
	if err != nil || u.Scheme != "http" || !slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, u.Hostname()) {
		return publicURL
	}
	u.Host = ConsoleHost(u.Host)
	return u.String()
}

// HasConsoleName reports whether browsers open the console of a broker with this public URL at ConsoleName, over http.
func HasConsoleName(publicURL string) bool {
	u, err := url.Parse(BrowserURL(publicURL))
	return err == nil && u.Scheme == "http" && u.Hostname() == ConsoleName
}

// ConsoleHost returns ConsoleName with the port of a Host.
func ConsoleHost(host string) string {
	port := (&url.URL{Host: host}).Port()
	if port == "" {
		return ConsoleName
	}
	return ConsoleName + ":" + port
}

// AtConsoleName reports whether the request was sent to ConsoleName.
func AtConsoleName(r *http.Request) bool { return hostName(r.Host) == ConsoleName }

// MayMove reports whether a request is for a page, was sent to another name of this machine than ConsoleName, and is
// from a browser that finds names below localhost without DNS: Chromium and Firefox do.
func MayMove(r *http.Request) bool {
	name, browser := hostName(r.Host), r.UserAgent()
	return isLoopback(name) && name != ConsoleName && strings.Contains(r.Header.Get("Accept"), "text/html") &&
		(strings.Contains(browser, "Chrome/") || strings.Contains(browser, "Firefox/"))
}

// BrowserOrigins returns the origins, and for each that is of a console on this machine the one that browsers send.
func BrowserOrigins(origins []string) []string {
	all := slices.Clone(origins)
	for _, origin := range origins {
		if at := BrowserURL(origin); !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	return all
}
