package apitable

import (
	"reflect"

	"bellhop/broker"
	"bellhop/internal/apidoc"
	"bellhop/notebook"
	"bellhop/protocol"
)

var (
	announcement    = reflect.TypeFor[protocol.Announcement]()
	createdNotebook = reflect.TypeFor[notebook.CreateResponse]()
)

// brokerWebhooks are the requests that the broker sends to webhooks. All of them carry Standard Webhooks headers.
var brokerWebhooks = []apidoc.Webhook{
	{Name: "turn.finished", Summary: "A turn has ended", Body: reflect.TypeFor[turnFinishedWebhook]()},
	{Name: "interaction.opened", Summary: "An agent asks the user", Body: reflect.TypeFor[interactionOpenedWebhook]()},
	{Name: "followup.answered", Summary: "A coding agent answered", Body: reflect.TypeFor[followupAnsweredWebhook]()},
	{
		Name: "followup.failed", Summary: "A question did not reach its coding agent",
		Body: reflect.TypeFor[followupFailedWebhook](),
	},
	{
		Name: "followup_message", Summary: "A question to a coding agent, which may answer it in the response",
		Body: reflect.TypeFor[protocol.FollowupDelivery](),
	},
}

// taskWebhook is what all webhooks of a user begin with. Those about notebooks have neither a task nor a turn.
type taskWebhook struct {
	Type      protocol.WebhookEvent `json:"type"`
	TaskID    string                `json:"taskId"`
	TurnID    string                `json:"turnId"`
	Timestamp string                `json:"timestamp"`
}

type turnFinishedWebhook struct {
	taskWebhook
	Data broker.TurnFinished `json:"data"`
}

type interactionOpenedWebhook struct {
	taskWebhook
	Data broker.InteractionOpened `json:"data"`
}

type followupAnsweredWebhook struct {
	taskWebhook
	Data notebook.Answer `json:"data"`
}

type followupFailedWebhook struct {
	taskWebhook
	Data notebook.Failure `json:"data"`
}
