package mcpserver

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"bellhop/protocol"
)

// methodToolsCall calls a tool.
const methodToolsCall = "tools/call"

// served are the methods that the SDK answers for a server with tools. Some clients read the lists of prompts and
// resources without looking at the capabilities; they are empty.
var served = []string{
	"initialize", "ping", "server/discover", "tools/list", methodToolsCall,
	"prompts/list", "resources/list", "resources/templates/list", "logging/setLevel",
}

// message is a message of a client. Without an id it is a notification.
type message struct {
	id      json.RawMessage // as the client wrote it; nil if there is none that can be answered
	method  string
	members map[string]json.RawMessage
}

// parse reads a request, a notification or a response. The refusal of any other body has the id that could be read.
func parse(raw []byte) (message, *refusal) {
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) && json.Valid(raw) {
		return message{}, refuse(codeInvalidRequest, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "JSON-RPC batches are not supported", Hint: "Send one message in each request",
		})
	}
	if err := protocol.ParseObject(raw); err != nil {
		if json.Valid(raw) {
			return message{}, refuse(codeInvalidRequest, err)
		}
		return message{}, refuse(codeParseError, err)
	}
	var m message
	if err := json.Unmarshal(raw, &m.members); err != nil {
		return message{}, refuse(codeParseError, err)
	}
	return m, m.readEnvelope()
}

func (m *message) readEnvelope() *refusal {
	if id, sent := m.members["id"]; sent {
		if !isString(id) && !isNumber(id) {
			return refuse(codeInvalidRequest, protocol.Errorf(protocol.CodeInvalid, "id must be a string or a number"))
		}
		m.id = id
	}
	if version := m.members["jsonrpc"]; !isString(version) || text(version) != "2.0" {
		return refuse(codeInvalidRequest, protocol.Errorf(protocol.CodeInvalid, "jsonrpc must be \"2.0\""))
	}
	if m.isResponse() {
		return nil
	}
	if !isString(m.members["method"]) {
		return refuse(codeInvalidRequest, protocol.Errorf(protocol.CodeInvalid, "method must be a string"))
	}
	m.method = text(m.members["method"])
	if m.id == nil && slices.Contains(served, m.method) {
		return refuse(codeInvalidRequest, protocol.Errorf(protocol.CodeInvalid, "%s is a request, which needs an id", m.method))
	}
	return nil
}

// isResponse reports whether the message answers a request of the server, which sends none.
func (m *message) isResponse() bool {
	_, method := m.members["method"]
	_, result := m.members["result"]
	_, failure := m.members["error"]
	return !method && m.id != nil && (result || failure)
}

// prepare checks the params of a request and removes null where the value is optional, because null counts as absent.
func (m *message) prepare() *refusal {
	if !slices.Contains(served, m.method) {
		return refuse(codeMethodNotFound, protocol.Errorf(protocol.CodeInvalid, "There is no method %q", shortened(m.method)))
	}
	params, sent := m.members["params"]
	if sent && isNull(params) {
		delete(m.members, "params")
		sent = false
	}
	switch {
	case sent && !isObject(params):
		return refuse(codeInvalidParams, protocol.Errorf(protocol.CodeInvalid, "params must be an object"))
	case m.method == "initialize" && !sent:
		return refuse(codeInvalidParams, protocol.Errorf(protocol.CodeInvalid, "initialize needs params"))
	case m.method == methodToolsCall:
		return m.prepareCall(params)
	}
	return nil
}

func (m *message) prepareCall(raw json.RawMessage) *refusal {
	params, arguments := objectOf(raw), map[string]json.RawMessage{}
	if !isString(params["name"]) {
		return refuse(codeInvalidParams, protocol.Errorf(protocol.CodeInvalid, "params.name must be the name of a tool"))
	}
	if sent := params["arguments"]; sent != nil && !isNull(sent) {
		if !isObject(sent) {
			return refuse(codeInvalidParams, protocol.Errorf(protocol.CodeInvalid, "params.arguments must be an object"))
		}
		arguments = objectOf(sent)
	}
	for name, value := range arguments {
		if isNull(value) {
			delete(arguments, name)
		}
	}
	params["arguments"] = encode(arguments)
	m.members["params"] = encode(params)
	return nil
}

// stand is the id that the SDK gets: it reads numbers as floats and so would answer some requests with another id.
var stand = json.RawMessage("1")

// forSDK returns the request with the id stand.
func (m *message) forSDK() []byte {
	m.members["id"] = stand
	return encode(m.members)
}

// encode encodes members, which are valid JSON.
func encode(members map[string]json.RawMessage) json.RawMessage {
	raw, err := protocol.Marshal(members)
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}

// objectOf returns the members of an object; of anything else, none.
func objectOf(raw json.RawMessage) map[string]json.RawMessage {
	members := map[string]json.RawMessage{}
	_ = json.Unmarshal(raw, &members)
	return members
}

func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

func isString(raw json.RawMessage) bool { return bytes.HasPrefix(raw, []byte(`"`)) }
func isObject(raw json.RawMessage) bool { return bytes.HasPrefix(raw, []byte("{")) }
func isNull(raw json.RawMessage) bool   { return string(raw) == "null" }
func isNumber(raw json.RawMessage) bool {
	return len(raw) > 0 && strings.ContainsRune("-0123456789", rune(raw[0]))
}

func shortened(s string) string {
	const most = 80
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
