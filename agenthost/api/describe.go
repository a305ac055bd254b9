package api

import (
	"net/http"
	"reflect"

	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// Descriptions of the handlers that write their response themselves.
var (
	describedMetrics = httpapi.Endpoint{Media: "text/plain"}

	describedPrompt = httpapi.Endpoint{
		Request: reflect.TypeFor[streamRequest](), Bodies: []reflect.Type{reflect.TypeFor[protocol.PromptRequest]()},
		MaxBody: protocol.MaxPrompt, Events: describedParts, Or: "text/plain",
	}
	describedStream = httpapi.Endpoint{
		Request: reflect.TypeFor[attachStreamRequest](), Events: describedParts, Or: "text/plain",
	}
	describedParts = []httpapi.Event{{Name: "message", Data: reflect.TypeFor[protocol.Part]()}}

	describedLines = httpapi.Endpoint{
		Request: reflect.TypeFor[linesRequest](), Status: http.StatusSwitchingProtocols,
	}

	describedShell = httpapi.Endpoint{
		Request: reflect.TypeFor[shellRequest](), Status: http.StatusSwitchingProtocols,
	}

	describedStatusEvents = httpapi.Endpoint{
		Events: []httpapi.Event{{Name: "status", Data: reflect.TypeFor[hostStatus]()}},
	}
)

type linesRequest struct {
	ID    string `param:"id" json:"-"`
	Token string `query:"token" json:"-"`
}

type shellRequest struct {
	ID string `param:"id" json:"-"`
}

type streamRequest struct {
	ID     string `param:"id" json:"-"`
	Token  string `query:"token" json:"-"`
	After  string `query:"after" json:"-"`
	Format string `query:"format" json:"-"`
	V      int    `query:"v" json:"-"`
}

type attachStreamRequest struct {
	streamRequest
	Follow bool `query:"follow" json:"-"`
}
