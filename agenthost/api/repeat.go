package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/agenthost"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// repeat says what a later copy of a request to a route does.
type repeat struct {
	// once: the host remembers the act by its key, and a copy gets the first answer. A request without a key is a new act:
	// only programs on the host's machine and brokers of version 0.1.0 send such.
	once bool
	// latest: a copy is answered anew until another act has come for the session; then it is refused.
	latest bool
	// again: an act that the end of the host's process cut off is done by its copy.
	again bool
	// why a copy does no harm, of a route that is neither once nor latest; of one with again, why the copy may do it.
	why string
}

// repeats has every route that changes something.
var repeats = map[string]repeat{
	"POST /session":                  {latest: true},
	"DELETE /session/:id":            {once: true, again: true, why: "what is deleted stays so"},
	"POST /session/:id/commit":       {once: true, again: true, why: "the commit's id follows from the request"},
	"POST /session/:id/discard":      {once: true},
	"POST /session/:id/push":         {once: true},
	"POST /session/:id/pull-request": {once: true},
	"POST /session/:id/restart":      {once: true},
	"POST /session/:id/revoke":       {once: true},
	"PUT /announcements":             {once: true, again: true, why: "a host that starts has none"},
	"POST /installations":            {once: true},
	"DELETE /installations/:program": {once: true},
	"POST /projects/:project/stop":   {once: true},
	"DELETE /session/:id/key":        {once: true},
	"DELETE /sessions/:id":           {once: true},

	"POST /session/:id/interrupt":         {why: "it names its turn"},
	"POST /session/:id/interactions/:iid": {why: "a question takes one answer"},
	"POST /session/:id/fetch":             {why: "it brings what the remote has now, and moves no branch"},
	"POST /session/:id/terminal":          {why: "it is sent on the host's machine alone, without a gateway between"},
	"POST /revoke":                        {why: "the id of a credential that was revoked is not used again"},
	"POST /sessions":                      {why: "it names the session, or makes an empty one"},
	"POST /reconcile":                     {why: "it compares positions; what is sent again is known by its position"},
	"POST /stream/:id":                    {why: "a stream token starts its turn once"},
}

// act registers a route that changes something.
func (a *API) act(e *echo.Echo, method, path string, handler echo.HandlerFunc, guards ...echo.MiddlewareFunc) {
	rule, known := repeats[method+" "+path]
	if !known {
		panic(fmt.Sprintf("%s %s: say in repeats what a copy of its request does", method, path))
	}
	switch {
	case rule.once:
		guards = append(guards, a.once(rule))
	case rule.latest:
		guards = append(guards, named)
	}
	e.Add(method, path, handler, guards...)
}

// once runs the handler once for each act, to its end even if the caller is gone.
func (a *API) once(rule repeat) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			act, err := actOf(c)
			switch {
			case err != nil:
				return err
			case act == nil:
				return next(c)
			}
			request, response := c.Request(), c.Response()
			writer := response.Writer
			err = a.Host.Once(request.Context(), act, rule.again, func(ctx context.Context) {
				recorded := &httpapi.Recorder{Fields: response.Header()}
				response.Writer = recorded
				defer func() { response.Writer, response.Committed, response.Size = writer, false, 0 }()
				c.SetRequest(request.WithContext(ctx))
				if err := next(c); err != nil {
					c.Error(err)
				}
				act.Status, act.Answer = recorded.Status, recorded.Body.Bytes()
			})
			if err != nil {
				return err
			}
			if len(act.Answer) == 0 {
				return c.NoContent(act.Status)
			}
			return c.JSONBlob(act.Status, act.Answer)
		}
	}
}

// named passes the act of a request on, for a handler that decides itself what a copy does.
func named(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		act, err := actOf(c)
		if err != nil {
			return err
		}
		if act != nil {
			c.SetRequest(c.Request().WithContext(agenthost.WithAct(c.Request().Context(), act)))
		}
		return next(c)
	}
}

// actOf returns the act of a request, nil for one without a key.
func actOf(c echo.Context) (*agenthost.ActRecord, error) {
	r := c.Request()
	key, err := httpapi.ActKey(r.Header)
	if key == "" || err != nil {
		return nil, err
	}
	seen, err := time.Parse(time.RFC3339Nano, r.Header.Get(protocol.HeaderFirstSeen))
	if err != nil {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: protocol.HeaderFirstSeen + " is missing, or no time", Err: err,
			Hint: "Send with " + protocol.HeaderAct + " when you first saw the act, such as 2026-07-01T12:00:00Z",
		}
	}
	body, err := httpapi.ReadBody(c, httpapi.DefaultMaxBody)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	digest := sha256.Sum256(append([]byte(r.Method+" "+r.URL.Path+"\n"), body...))
	return &agenthost.ActRecord{SessionID: c.Param("id"), ID: key, Digest: digest[:], Seen: seen.UTC()}, nil
}
