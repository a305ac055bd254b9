package egress

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// Route leads from a path of the gateway to a model's API.
type Route struct {
	Name    string // first element of the path
	Base    *url.URL
	Headers map[string]string // with keys; empty = those of the program pass
}

// keyHeaders are the headers in which programs send keys. Where the route has a key, what a
// program sends there does not pass: it could be another account's key, to which data would
// leave.
var keyHeaders = []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key", "Proxy-Authorization"}

// serveRoute forwards a request of the gateway.
func (s *Server) serveRoute(w http.ResponseWriter, r *http.Request, client Client) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	for _, route := range client.Routes {
		if route.Name == name {
			s.forward(w, r, route, rest)
			return
		}
	}
	s.refuse(w, r, client, "/"+name)
}

func (s *Server) forward(w http.ResponseWriter, r *http.Request, route Route, rest string) {
	path, err := url.PathUnescape(rest)
	if err != nil || hasDots(path) {
		http.Error(w, "Bellhop: the path is not valid", http.StatusBadRequest)
		return
	}
	proxy := &httputil.ReverseProxy{
		Transport: s.models, FlushInterval: -1, ErrorHandler: s.fail, ErrorLog: s.http.ErrorLog,
		Rewrite: func(p *httputil.ProxyRequest) {
			target := *route.Base
			target.Path, target.RawPath = strings.TrimRight(target.Path, "/")+"/"+path, ""
			p.Out.Host, target.RawQuery = "", p.In.URL.RawQuery
			if len(route.Headers) > 0 {
				target.RawQuery = withoutKey(p.In.URL.Query())
				replaceKeys(p.Out.Header, route.Headers)
			}
			p.Out.URL = &target
		},
	}
	proxy.ServeHTTP(w, r)
}

func replaceKeys(header http.Header, keys map[string]string) {
	for _, name := range keyHeaders {
		header.Del(name)
	}
	for name, value := range keys {
		header.Set(name, value)
	}
}

// hasDots reports whether a path could lead out of the base of its route.
func hasDots(path string) bool {
	for element := range strings.SplitSeq(strings.ReplaceAll(path, `\`, "/"), "/") {
		if element == "." || element == ".." {
			return true
		}
	}
	return false
}

// withoutKey returns the query without a key, which some APIs take there.
func withoutKey(query url.Values) string {
	query.Del("key")
	return query.Encode()
}

// fail answers a request whose target cannot be reached.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.options.Log.WarnContext(r.Context(), "a program's request failed", "target", r.Host, "err", err)
	http.Error(w, fmt.Sprintf("Bellhop: the target cannot be reached: %v", err), http.StatusBadGateway)
}
