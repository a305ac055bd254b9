package mcpserver

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"bellhop/protocol"
)

// Error codes of JSON-RPC 2.0.
const (
	codeParseError     = -32700
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeServerError    = -32000
)

// rpcResponse is a response of JSON-RPC. Result or Error is set.
type rpcResponse struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // null: an error of the request as a whole
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *refusal        `json:"error,omitempty"`
}

// refusal is an error of JSON-RPC.
type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

type refusalData struct {
	Code protocol.Code `json:"code"`
	Hint string        `json:"hint,omitempty"`
}

// refuse returns err as an error of JSON-RPC.
func refuse(code int, err error) *refusal {
	var e *protocol.Error
	if !errors.As(err, &e) {
		e = &protocol.Error{Code: protocol.CodeInvalid, Message: "The message cannot be read"}
	}
	return &refusal{code, e.Message, &refusalData{e.Code, e.Hint}}
}

// response returns the response with a refusal. Without an id it is null.
func (r *refusal) response(id json.RawMessage) ([]byte, error) {
	return protocol.Marshal(rpcResponse{JSONRPC: "2.0", ID: orNull(id), Error: r})
}

func orNull(id json.RawMessage) json.RawMessage {
	if id == nil {
		return json.RawMessage("null")
	}
	return id
}

// FormatError is an httpapi.ErrorFormat: it writes the errors of a route's middleware as MCP clients read them.
func FormatError(_ http.Header, e *protocol.Error) ([]byte, error) {
	code := codeServerError
	switch e.Code {
	case protocol.CodeInvalid, protocol.CodeTooLarge, protocol.CodeUnsupportedMedia:
		code = codeInvalidRequest
	}
	return refuse(code, e).response(nil)
}

// readable returns an error of the SDK for people: it names no types of Go, and has a code.
func readable(method string, e *refusal) *refusal {
	if e.Code == 0 || e.Code == codeInvalidParams && strings.Contains(e.Message, "unmarshal") {
		return refuse(codeInvalidParams, protocol.Errorf(protocol.CodeInvalid, "The params of %s are not valid", method))
	}
	e.Message = cmp.Or(e.Message, "Internal error")
	return e
}
