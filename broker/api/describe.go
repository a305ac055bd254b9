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

	describedLogin = httpapi.Endpoint{
		Bodies: []reflect.Type{reflect.TypeFor[loginRequest]()}, MaxBody: maxLogin, Response: reflect.TypeFor[userResponse](),
	}
	describedLogout   = httpapi.Endpoint{Response: reflect.TypeFor[protocol.SuccessResponse]()}
	describedPassword = httpapi.Endpoint{
		Bodies: []reflect.Type{reflect.TypeFor[passwordRequest]()}, MaxBody: maxLogin,
		Response: reflect.TypeFor[protocol.SuccessResponse](),
	}
	describedAuditExport = httpapi.Endpoint{Request: reflect.TypeFor[exportAuditRequest](), Media: "application/x-ndjson"}

	describedTaskExport = httpapi.Endpoint{Request: reflect.TypeFor[exportTaskRequest](), Media: markdown}
	describedShared     = httpapi.Endpoint{
		Request: reflect.TypeFor[sharedRequest](), Response: reflect.TypeFor[protocol.SharedTranscript](),
	}
	describedShell = httpapi.Endpoint{
		Request: reflect.TypeFor[shellRequest](), Status: http.StatusSwitchingProtocols,
	}
	describedSharedExport = httpapi.Endpoint{Media: markdown}

	describedWebhook = httpapi.Endpoint{
		Request: reflect.TypeFor[webhookRequest](), MaxBody: protocol.MaxWebhookBody,
		Bodies:   []reflect.Type{reflect.TypeFor[protocol.Event](), reflect.TypeFor[protocol.WebhookBatch]()},
		Response: reflect.TypeFor[protocol.IngestResponse](),
	}
	describedRenewal = httpapi.Endpoint{
		Request: reflect.TypeFor[webhookRequest](), Response: reflect.TypeFor[protocol.RenewResponse](),
	}

	describedTaskFeed = httpapi.Endpoint{
		Request: reflect.TypeFor[taskFeedRequest](),
		Events: []httpapi.Event{
			{Name: "hello", Data: reflect.TypeFor[feedPosition]()},
			{Name: "reset", Data: reflect.TypeFor[feedPosition]()},
			{Name: "message", Data: reflect.TypeFor[protocol.Message]()},
			{Name: "task", Data: reflect.TypeFor[protocol.Task]()},
			{Name: "interaction", Data: reflect.TypeFor[protocol.Interaction]()},
			{Name: "bye", Data: reflect.TypeFor[struct{}]()},
		},
	}
	describedUserFeed = httpapi.Endpoint{
		Events: []httpapi.Event{
			{Name: "hello", Data: reflect.TypeFor[userFeedState]()},
			{Name: "task", Data: reflect.TypeFor[protocol.TaskHint]()},
			{Name: "agent", Data: reflect.TypeFor[protocol.AgentHint]()},
			{Name: "announcements", Data: reflect.TypeFor[struct{}]()},
			{Name: "bye", Data: reflect.TypeFor[struct{}]()},
		},
	}

	describedRelayedPrompt = httpapi.Endpoint{
		Request: reflect.TypeFor[relayRequest](), Bodies: []reflect.Type{reflect.TypeFor[protocol.PromptRequest]()},
		MaxBody: protocol.MaxLine, Events: relayedParts, Or: "text/plain",
	}
	describedRelayedStream = httpapi.Endpoint{
		Request: reflect.TypeFor[relayRequest](), Events: relayedParts, Or: "text/plain",
	}

	relayedParts = []httpapi.Event{{Name: "message", Data: reflect.TypeFor[protocol.Part]()}}
)

// exportAuditRequest has the query of an export.
type exportAuditRequest struct {
	From    string `query:"from" json:"-"`
	Until   string `query:"until" json:"-"`
	Actor   string `query:"actor" json:"-"`
	Action  string `query:"action" json:"-"`
	Subject string `query:"subject" json:"-"`
}

const markdown = "text/markdown"

type exportTaskRequest struct {
	ID     string `param:"id" json:"-"`
	Masked bool   `query:"masked" json:"-"` // whether patterns of secrets are replaced, as in shared transcripts
}

type sharedRequest struct {
	After int64 `query:"after" json:"-"` // the nextAfter of the page before
}

// webhookRequest has the token of a host's post, unless a header has it.
type webhookRequest struct {
	Token string `query:"token" json:"-"` // the webhook token, unless a header has it
}

type taskFeedRequest struct {
	ID    string `param:"id" json:"-"`
	Since *int64 `query:"since" json:"-"` // the rev that the reader has, unless it sends Last-Event-ID
}

// feedPosition is the rev that a feed of a task begins after.
type feedPosition struct {
	Rev int64 `json:"rev"`
}

// userFeedState has the newest tasks and agent sessions when a feed of a user begins.
type userFeedState struct {
	Tasks         []protocol.TaskHint  `json:"tasks"`
	AgentSessions []protocol.AgentHint `json:"agentSessions,omitempty"`
}

type relayRequest struct {
	TaskID string `param:"taskId" json:"-"`
	Token  string `query:"token" json:"-"`
	After  string `query:"after" json:"-"`
	Follow bool   `query:"follow" json:"-"`
	Format string `query:"format" json:"-"`
	V      int    `query:"v" json:"-"`
}

type shellRequest struct {
	ID string `param:"id" json:"-"`
}
