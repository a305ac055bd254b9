package httpapi

import (
	"context"
	"net/http"
	"reflect"

	"github.com/labstack/echo/v4"

	"bellhop/protocol"
)

// Option changes how Handle reads or responds.
type Option func(*options)

type options struct {
	maxBody      int64
	optionalBody bool
	status       func(resp any) int
}

// MaxBody replaces DefaultMaxBody; n is in bytes.
func MaxBody(n int64) Option { return func(o *options) { o.maxBody = n } }

// OptionalBody allows a request without a body; its fields stay zero.
func OptionalBody() Option { return func(o *options) { o.optionalBody = true } }

// Accepted chooses the status by the response, such as 201 for new and 200 for existing.
func Accepted[Resp any](choose func(*Resp) int) Option {
	return func(o *options) {
		o.status = func(resp any) int { return choose(resp.(*Resp)) }
	}
}

// Handle adapts a typed function to Echo: read, bind, validate, call, encode.
//
// Fields of Req come from the path (`param:"id" json:"-"`), the query
// (`query:"limit" json:"-"`) or, all others, from the JSON body, which is read
// only by POST, PUT and PATCH routes that have such fields. Bound fields may be
// string, bool, int or int64, or a pointer to one; a body can never set them. A
// Validate() error method on *Req runs before do.
//
// The status is chosen by Accepted, else by the method HTTPStatus() int of the response, else
// it is status. A nil response with 204 has no body. Endpoints reads Req and Resp from the handler.
func Handle[Req, Resp any](status int, do func(context.Context, *Req) (*Resp, error), opts ...Option) echo.HandlerFunc {
	o := options{maxBody: DefaultMaxBody}
	for _, opt := range opts {
		opt(&o)
	}
	binding := bindingOf(reflect.TypeFor[Req]())
	described := Endpoint{
		Handler: nameOf(do), Request: reflect.TypeFor[Req](), MaxBody: o.maxBody, OptionalBody: o.optionalBody,
		Status: status,
	}
	if status != http.StatusNoContent {
		described.Response = reflect.TypeFor[Resp]()
	}
	return func(c echo.Context) error {
		if answers(c, &described) {
			return nil
		}
		req := new(Req)
		if err := readInto(c, &o, &binding, req); err != nil {
			return err
		}
		if v, ok := any(req).(interface{ Validate() error }); ok {
			if err := v.Validate(); err != nil {
				return err
			}
		}
		resp, err := do(c.Request().Context(), req)
		if err != nil {
			return err
		}
		return respond(c, &o, status, resp, resp == nil)
	}
}

func readInto(c echo.Context, o *options, b *binding, req any) error {
	if b.hasBody && takesBody(c.Request().Method) {
		raw, err := ReadBody(c, o.maxBody)
		if err != nil {
			return err
		}
		if len(raw) > 0 || !o.optionalBody {
			if err := protocol.Decode(raw, req); err != nil {
				return err
			}
		}
	}
	return b.bind(c, reflect.ValueOf(req).Elem())
}

func takesBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

func respond(c echo.Context, o *options, status int, resp any, isNil bool) error {
	if isNil {
		return c.NoContent(status)
	}
	if o.status != nil {
		status = o.status(resp)
	} else if s, ok := resp.(interface{ HTTPStatus() int }); ok {
		status = s.HTTPStatus()
	}
	body, err := protocol.Marshal(resp)
	if err != nil {
		return err
	}
	return c.JSONBlob(status, body)
}
