package apitable

import (
	"log/slog"
	"reflect"

	"bellhop/broker/api"
	"bellhop/broker/auth"
	"bellhop/internal/apidoc"
	"bellhop/internal/httpapi"
	notebookapi "bellhop/notebook/api"
	"bellhop/notebook/mcp"
	"bellhop/protocol"
	"bellhop/webhook/inbound"
	outboundapi "bellhop/webhook/outbound/api"
	notificationapi "bellhop/webhook/outbound/notification/api"
)

// Broker returns the document of the broker.
func Broker() (*apidoc.Document, error) {
	endpoints, err := httpapi.Endpoints((&api.API{
		Auth: auth.New(auth.Options{}), Webhook: &inbound.Webhook{},
		Parts: []api.Part{
			&notebookapi.API{}, &mcp.Server{Version: "1", Log: slog.New(slog.DiscardHandler)}, &outboundapi.API{},
			&notificationapi.API{},
		},
	}).Routes)
	if err != nil {
		return nil, err
	}
	routes, err := join(endpoints, brokerRows, brokerSecurity)
	return &apidoc.Document{
		Title: "Bellhop broker", Server: "/", Tags: brokerTags, Schemes: brokerSchemes, Routes: routes,
		Text: "The broker signs users in, opens sessions on agent hosts and stores what agents did. Streams come from " +
			"the host that a check-in names. Clients ignore members and values that they do not know.",
		Webhooks: brokerWebhooks, Problem: reflect.TypeFor[problem](), Parameters: parameters,
		Also: []reflect.Type{reflect.TypeFor[protocol.ToolUse](), reflect.TypeFor[protocol.Resume]()},
		Open: openSets,
	}, err
}

// openSets are sets of constants to which agents, hosts and later versions add values.
var openSets = []reflect.Type{reflect.TypeFor[protocol.EventType](), reflect.TypeFor[protocol.Code]()}

// Names of the ways in which callers prove who they are.
const (
	session      = "session"
	apiToken     = "apiToken"
	webhookQuery = "webhookTokenInQuery"
	webhookToken = "webhookToken"
	renewalToken = "webhookTokenInHeader"
	streamQuery  = "streamTokenInQuery"
	streamToken  = "streamToken"
	shareToken   = "shareToken"
)

var brokerSchemes = []apidoc.Scheme{
	{Name: session, Kind: "cookie", Member: "bellhop_session", Text: "The cookie of a sign-in. Its name begins with " +
		"`__Host-` if the public URL is https, and for browsers at `bellhop.localhost`."},
	{Name: apiToken, Kind: "bearer", Text: "An API token (`bhp_…`). It needs one of the scopes that an operation names."},
	{Name: webhookQuery, Kind: "query", Member: "token", Text: "The webhook token (JWT) of a session."},
	{Name: webhookToken, Kind: "bearer", Text: "The webhook token (JWT) of a session."},
	{Name: renewalToken, Kind: "header", Member: protocol.HeaderWebhookToken, Text: "The webhook token of a renewal."},
	{Name: streamQuery, Kind: "query", Member: "token", Text: "The stream token of a check-in or attach."},
	{Name: streamToken, Kind: "bearer", Text: "The stream token of a check-in or attach."},
	{Name: shareToken, Kind: "bearer", Text: "The token of a share link. One that does not work is answered with 404."},
	{Name: agentPassword, Kind: "bearer", Text: "The agent password of the task's host."},
}

// brokerSecurity is how callers of a route prove who they are, by the route's scope. Routes without a scope say it in
// their row.
func brokerSecurity(route string) []apidoc.Requirement {
	bySession := uses(session)
	switch scope := auth.ScopeOfRoute(route); scope {
	case "none", "":
		return []apidoc.Requirement{bySession}
	case "any":
		return []apidoc.Requirement{bySession, uses(apiToken)}
	default:
		return []apidoc.Requirement{bySession, {{Scheme: apiToken, Scopes: []string{string(scope)}}}}
	}
}

// sharedOnly marks a route for readers of share links. It never answers that a token is wrong.
func (r row) sharedOnly() row {
	r.Never = []protocol.Code{protocol.CodeUnauthorized}
	return r.by(uses(shareToken))
}

// open is the security of routes that need no credential.
func (r row) open() row { return r.by() }
