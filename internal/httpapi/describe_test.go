package httpapi_test

import (
	"net/http"
	"reflect"
	"testing"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
)

func TestEndpointsDescribeRoutesWithoutCallingThem(t *testing.T) {
	t.Parallel()
	refuse := func(echo.HandlerFunc) echo.HandlerFunc {
		return func(echo.Context) error { return echo.ErrUnauthorized }
	}
	called := false
	endpoints, err := httpapi.Endpoints(func(e *echo.Echo) {
		e.POST("/things/:id",
			httpapi.Handle(http.StatusCreated, echoRequest, httpapi.MaxBody(7), httpapi.OptionalBody()), refuse)
		e.GET("/raw", httpapi.Describe(func(echo.Context) error {
			called = true
			return nil
		}, httpapi.Endpoint{Media: "text/plain"}), refuse)
	})
	if err != nil || called || len(endpoints) != 2 {
		t.Fatal(endpoints, called, err)
	}
	want := httpapi.Endpoint{
		Method: "POST", Path: "/things/:id", Handler: "bellhop/internal/httpapi_test.echoRequest",
		Request: reflect.TypeFor[fullRequest](), MaxBody: 7, OptionalBody: true, Status: 201,
		Response: reflect.TypeFor[fullResponse](),
	}
	if !reflect.DeepEqual(endpoints[0], want) {
		t.Errorf("got  %+v\nwant %+v", endpoints[0], want)
	}
	if raw := endpoints[1]; raw.Path != "/raw" || raw.Media != "text/plain" || raw.Response != nil {
		t.Errorf("%+v", raw)
	}
}

func TestAHandlerWithoutADescriptionIsNamed(t *testing.T) {
	t.Parallel()
	_, err := httpapi.Endpoints(func(e *echo.Echo) {
		e.GET("/bare", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
		e.GET("/quiet", func(echo.Context) error { return nil })
	})
	const want = "handlers without a description, which httpapi.Describe(handler, httpapi.Endpoint{...}) adds: " +
		"GET /bare, GET /quiet"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestADescribedHandlerServes(t *testing.T) {
	t.Parallel()
	e, _ := newEcho()
	serve := func(c echo.Context) error { return c.String(http.StatusOK, "served") }
	e.GET("/raw", httpapi.Describe(serve, httpapi.Endpoint{}))
	requireAnswer(t, call(e, "GET", "/raw", ""), 200, "served")
}
