package apitable

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bellhop/internal/apidoc"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

const module = "bellhop"

// Documents returns the documents by their file names below the module's directory root.
func Documents(root string) (map[string][]byte, error) {
	documents := map[string][]byte{}
	for name, of := range map[string]func() (*apidoc.Document, error){
		"openapi/broker.yaml": Broker, "openapi/host.yaml": Host,
	} {
		document, err := of()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if documents[name], err = document.YAML(root, module); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return documents, nil
}

// row is what the table says about a route.
type row struct {
	apidoc.Operation

	security []apidoc.Requirement // nil: as the route's scope says
}

// op is the row of a route: its id, tag, summary, and the codes of errors that not every route of its kind has.
func op(id, tag, summary string, codes ...protocol.Code) row {
	return row{Operation: apidoc.Operation{ID: id, Tag: tag, Summary: summary, Codes: codes}}
}

// text adds sentences to the description.
func (r row) text(text string) row {
	r.Text = text
	return r
}

// also adds a further status without an error.
func (r row) also(status int, text string) row {
	return r.with(apidoc.Success{Status: status, Text: text})
}

func (r row) with(also apidoc.Success) row {
	r.Also = append(slices.Clone(r.Also), also)
	return r
}

// header adds a header field of the request.
func (r row) header(name, text string) row {
	r.Headers = append(slices.Clone(r.Headers), apidoc.Header{Name: name, Text: text})
	return r
}

// needs names query parameters that are required.
func (r row) needs(names ...string) row {
	r.Needs = names
	return r
}

// foreign marks a route whose errors have the form of another protocol.
func (r row) foreign() row {
	r.AnyError = true
	return r
}

// by sets the credentials of a route: one of the requirements has to be met.
func (r row) by(any ...apidoc.Requirement) row {
	r.security = append([]apidoc.Requirement{}, any...)
	return r
}

// uses is a requirement of schemes without scopes.
func uses(schemes ...string) apidoc.Requirement {
	var all apidoc.Requirement
	for _, s := range schemes {
		all = append(all, apidoc.Use{Scheme: s})
	}
	return all
}

// join returns the routes with their rows. Routes without a row are an error, and so are rows without a route.
func join(endpoints []httpapi.Endpoint, rows map[string]row, security func(route string) []apidoc.Requirement) (
	[]apidoc.Route, error,
) {
	rest := maps.Clone(rows)
	routes := make([]apidoc.Route, 0, len(endpoints))
	var missing []string
	for _, e := range endpoints {
		name := e.Method + " " + e.Path
		described, found := rest[name]
		if !found {
			missing = append(missing, fmt.Sprintf("\t%q: op(\"uniqueId\", \"tag\", \"Summary\", codes...),", name))
			continue
		}
		delete(rest, name)
		route := apidoc.Route{Endpoint: e, Operation: described.Operation, Security: described.security}
		if described.security == nil {
			route.Security = security(name)
		}
		routes = append(routes, route)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf(
			"routes without a row: add these to the table in internal/app/apitable, then run make generate:\n%s",
			strings.Join(missing, "\n"))
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("the table in internal/app/apitable has rows for routes that no server registers: %s",
			strings.Join(slices.Sorted(maps.Keys(rest)), ", "))
	}
	return routes, nil
}

// problem is the body of every error. The members after hint belong to single routes.
type problem struct {
	Error string        `json:"error"`          // for people: what happened
	Code  protocol.Code `json:"code"`           // for programs
	Hint  string        `json:"hint,omitempty"` // for people: what to do

	Cursor      *protocol.Cursor `json:"cursor,omitempty"`      // of the webhook: the position that the broker has
	Index       *int             `json:"index,omitempty"`       // of the webhook: the first event that was refused
	Incarnation string           `json:"incarnation,omitempty"` // of the webhook: one unbroken life of the broker's database
	Time        int64            `json:"time,omitempty"`        // of `signature_time`: seconds since 1970
	MessageID   string           `json:"messageId,omitempty"`   // of a check-in: the message was stored
	TurnID      string           `json:"turnId,omitempty"`      // of a check-in, with messageId
	UsedBy      string           `json:"usedBy,omitempty"`      // the task or session that works in the workspace
}

// parameters describes the parameters whose fields have no comment.
var parameters = map[string]string{
	"id":             "The id of the object that the path names.",
	"iid":            "The id of the interaction.",
	"taskId":         "The id of the task.",
	"sessionId":      "The id of the session, which is that of its task.",
	"signInId":       "The id of the sign-in.",
	"messageId":      "The id of the message.",
	"program":        "The program of an agent, as the host's offer names it.",
	"project":        "The name of a project.",
	"version":        "The number of the version, from 1.",
	"branch":         "A branch of the project; its default if absent.",
	"hostId":         "The id of a registered host.",
	"brokerId":       "The id of the broker whose sessions are listed.",
	"agentSessionId": "The id of the agent session.",
	"endpointId":     "The id of a webhook.",
	"path":           "A path in the workspace; empty is the workspace itself.",
	"offset":         "Where in the file to begin, in bytes.",
	"regexp":         "Whether q is a regular expression (RE2).",
	"case":           "Whether upper and lower case differ.",
	"conversation":   "Whether the answer has the newest messages about the source.",
	"q":              "What to search for.",
	"limit":          "How many elements the answer has at most.",
	"cursor":         "The nextCursor of the page before.",
	"after":          "Continue behind this position.",
	"before":         "Only elements before this position.",
	"since":          "Only elements that changed after this rev.",
	"with":           "`turns` adds how turns ended, and their questions.",
	"atLeast":        "Wait until the event with this seq is stored.",
	"turn":           "Wait until this turn has ended at the broker.",
	"wait":           "How long to wait at most, such as `5s`.",
	"state":          "Only elements in this state.",
	"archived":       "Only archived tasks, or only others; all if absent.",
	"force":          "Whether to remove it although it owes something.",
	"from":           "A time (RFC 3339) or a day in UTC, included.",
	"until":          "A time (RFC 3339) or a day in UTC, not included.",
	"actor":          "An id or e-mail address of a user, or a kind of actor.",
	"action":         "An act, or a group of acts.",
	"subject":        "An id, a name or an e-mail address.",
	"token":          "The stream token, unless Authorization has it.",
	"follow":         "Whether the stream goes on with later turns.",
	"format":         "`native`, or `ui` for a UI message stream of the AI SDK.",
	"v":              "With format=ui: the version of the AI SDK, 5, 6 or 7.",
	"epoch":          "The epoch of the events.",
	"last":           "The id of the event that the reader has at this position.",
	"prompts":        "Whether the answer has the prompts of the turns.",
}
