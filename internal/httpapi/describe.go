package httpapi

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/labstack/echo/v4"
)

// Endpoint describes what the handler of a route takes and returns, for the OpenAPI documents.
type Endpoint struct {
	Method, Path string // of the route; the path as Echo writes it, such as /tasks/:id
	Handler      string // the Go name of the handler, such as bellhop/broker/api.(*API).getTask

	// Request is a struct whose fields have the tags of Handle; nil takes nothing.
	Request      reflect.Type
	Bodies       []reflect.Type // of the body, if it is not the fields of Request: one of them
	MaxBody      int64          // bytes; 0 = DefaultMaxBody
	OptionalBody bool

	Status   int          // of a success; 0 = 200
	Response reflect.Type // nil has no body
	Media    string       // of the response; "" = application/json
	Or       string       // a further media type of the response; "" = none
	Events   []Event      // of a response that is an event stream
}

// Event is a kind of frame of an event stream.
type Event struct {
	Name string // the frame's event field; "" is a frame without one
	Data reflect.Type
}

// probe is the context of a call that asks a handler for its description.
type probe struct {
	echo.Context // nil: a handler that uses it has no description

	found *Endpoint
}

// answers reports whether the call only asks for the handler's description, and returns e to it.
func answers(c echo.Context, e *Endpoint) bool {
	p, asks := c.(*probe)
	if asks {
		p.found = e
	}
	return asks
}

// Describe adds a description to a handler that Handle did not make. Method, Path and Handler are set by Endpoints.
func Describe(do echo.HandlerFunc, e Endpoint) echo.HandlerFunc {
	name := nameOf(do)
	return func(c echo.Context) error {
		described := e
		described.Handler = name
		if answers(c, &described) {
			return nil
		}
		return do(c)
	}
}

// Endpoints returns the descriptions of the routes that register adds, in that order. The error names the routes whose
// handlers have none: they are made by neither Handle nor Describe.
func Endpoints(register func(e *echo.Echo)) ([]Endpoint, error) {
	var found []Endpoint
	var missing []string
	e := echo.New()
	e.OnAddRouteHandler = func(_ string, route echo.Route, handler echo.HandlerFunc, _ []echo.MiddlewareFunc) {
		described := ask(handler)
		if described == nil {
			missing = append(missing, route.Method+" "+route.Path)
			return
		}
		one := *described
		one.Method, one.Path = route.Method, route.Path
		found = append(found, one)
	}
	register(e)
	if len(missing) > 0 {
		return nil, fmt.Errorf(
			"handlers without a description, which httpapi.Describe(handler, httpapi.Endpoint{...}) adds: %s",
			strings.Join(missing, ", "))
	}
	return found, nil
}

// ask calls a handler for its description only. It returns nil if the handler has none.
func ask(handler echo.HandlerFunc) *Endpoint {
	p := &probe{}
	func() {
		defer func() { _ = recover() }() // the handler used the context, which has nothing
		_ = handler(p)
	}()
	return p.found
}

// nameOf returns the Go name of a function.
func nameOf(do any) string {
	return strings.TrimSuffix(runtime.FuncForPC(reflect.ValueOf(do).Pointer()).Name(), "-fm")
}
