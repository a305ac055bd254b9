package mcp

import (
	"net/http"
	"reflect"

	"bellhop/internal/httpapi"
)

// Descriptions of the handlers. The messages of MCP are described by its own schema.
var (
	describedMCP = httpapi.Endpoint{
		Bodies: []reflect.Type{reflect.TypeFor[any]()}, MaxBody: maxBody, Response: reflect.TypeFor[any](),
	}
	describedMetadata = httpapi.Endpoint{Response: reflect.TypeFor[map[string]any]()}
	describedRefusal  = httpapi.Endpoint{Status: http.StatusBadRequest, Response: reflect.TypeFor[oauthError]()}
	describedNoStream = httpapi.Endpoint{Status: http.StatusMethodNotAllowed, Response: reflect.TypeFor[any]()}
)
