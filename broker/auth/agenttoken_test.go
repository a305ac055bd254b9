package auth_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/protocol"
)

func TestAnAgentsTokenReachesOnlyWhatIsForAgents(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	made := &broker.APIToken{UserID: d.ada.ID, Name: "editor", Kind: broker.TokenAgent, AgentIdentifier: "claude-code"}
	plain, err := d.CreateToken(t.Context(), made)
	must(t, err)
	d.wantNoCaller(bearer("GET", plain), protocol.CodeForbidden)

	for _, c := range []struct {
		name       string
		middleware echo.MiddlewareFunc
		code       protocol.Code
		caller     broker.Caller
	}{
		{"a route for users", d.Middleware, protocol.CodeForbidden, broker.Caller{}},
		{"a route for agents", d.AgentMiddleware, "", broker.Caller{UserID: d.ada.ID, AgentIdentifier: "claude-code"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got broker.Caller
			handler := c.middleware(func(e echo.Context) error {
				got = d.Caller(e.Request().Context())
				return e.NoContent(http.StatusNoContent)
			})
			request := echo.New().NewContext(bearer("POST", plain), httptest.NewRecorder())
			request.SetPath("/mcp")
			err := handler(request)
			if protocol.CodeOf(err) != c.code || got != c.caller {
				t.Errorf("%v, %+v", err, got)
			}
		})
	}
	must(t, d.DeleteToken(t.Context(), d.ada.ID, made.ID))
	d.wantNoCaller(bearer("GET", plain), protocol.CodeUnauthorized)
}
