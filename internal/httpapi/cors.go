package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"bellhop/protocol"
)

// CORSOptions are the settings of CORS. AllowedOrigins must come from ParseOrigins.
type CORSOptions struct {
	AllowedOrigins []string
	Credentials    bool     // allow cookies; bearer clients do not need it
	AllowMethods   []string // nil = GET POST PUT PATCH DELETE
	AllowHeaders   []string // nil = Authorization Content-Type Last-Event-ID Cache-Control Bellhop-Request
	ExposeHeaders  []string // nil = Retry-After X-Request-Id Bellhop-Broker Bellhop-Request
}

// ParseOrigins checks a configured list of origins (scheme://host[:port]) and returns them in
// the form that browsers send. "*" and "null" are refused: they would match any page.
func ParseOrigins(list []string) ([]string, error) {
	origins := make([]string, 0, len(list))
	for _, text := range list {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		origin, ok := originOf(text)
		if !ok {
			return nil, &protocol.Error{
				Code:    protocol.CodeInvalid,
				Message: "Not an origin: " + text,
				Hint:    "Write it as https://app.example.com, without a path; * and null are not allowed",
			}
		}
		origins = append(origins, origin)
	}
	return origins, nil
}

func originOf(text string) (string, bool) {
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.Host, "*") {
		return "", false
	}
	host := strings.ToLower(u.Host)
	if port := u.Port(); port == "" || u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return u.Scheme + "://" + host, true
}

// CORS answers preflights and adds headers to every response for the allowed origins, including
// errors, by exact comparison (reliability SSE-7). It must be added with Use before any
// middleware that may reject a request.
func CORS(opts CORSOptions) echo.MiddlewareFunc {
	opts = withDefaults(opts)
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r, header := c.Request(), c.Response().Header()
			header.Add("Vary", "Origin")
			origin, allowed := opts.allowed(r)
			if allowed {
				header.Set("Access-Control-Allow-Origin", origin)
				if opts.Credentials {
					header.Set("Access-Control-Allow-Credentials", "true")
				}
				header.Set("Access-Control-Expose-Headers", strings.Join(opts.ExposeHeaders, ", "))
			}
			if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
				return next(c)
			}
			header.Add("Vary",
				"Access-Control-Request-Method, Access-Control-Request-Headers, Access-Control-Request-Private-Network")
			if allowed {
				opts.preflight(r, header)
			}
			return c.NoContent(http.StatusNoContent)
		}
	}
}

func withDefaults(opts CORSOptions) CORSOptions {
	if opts.AllowMethods == nil {
		opts.AllowMethods = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
	}
	if opts.AllowHeaders == nil {
		opts.AllowHeaders = []string{
			"Authorization", "Content-Type", "Last-Event-ID", "Cache-Control", protocol.HeaderRequest,
			protocol.HeaderAct,
		}
	}
	if opts.ExposeHeaders == nil {
		opts.ExposeHeaders = []string{"Retry-After", echo.HeaderXRequestID, protocol.HeaderBroker, protocol.HeaderRequest}
	}
	opts.AllowedOrigins = slices.DeleteFunc(slices.Clone(opts.AllowedOrigins), func(origin string) bool {
		return origin == "*" || origin == "null"
	})
	return opts
}

func (o *CORSOptions) allowed(r *http.Request) (string, bool) {
	origins := r.Header.Values("Origin")
	if len(origins) != 1 {
		return "", false
	}
	return origins[0], slices.Contains(o.AllowedOrigins, origins[0])
}

func (o *CORSOptions) preflight(r *http.Request, header http.Header) {
	header.Set("Access-Control-Allow-Methods", strings.Join(o.AllowMethods, ", "))
	header.Set("Access-Control-Allow-Headers", strings.Join(o.AllowHeaders, ", "))
	header.Set("Access-Control-Max-Age", "600")
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		header.Set("Access-Control-Allow-Private-Network", "true")
	}
}
