package protocol

// WebhookEvent is the type of a message to a user's own webhook, section 3.
type WebhookEvent string

// Webhook events.
const (
	WebhookTurnFinished      WebhookEvent = "turn.finished"
	WebhookInteractionOpened WebhookEvent = "interaction.opened"
	WebhookFollowupAnswered  WebhookEvent = "followup.answered"
	WebhookFollowupFailed    WebhookEvent = "followup.failed"
)

// WebhookFormat is what the body of a user's webhook looks like.
type WebhookFormat string

// Formats of webhooks.
const (
	FormatBellhop WebhookFormat = ""      // the event as JSON
	FormatNtfy    WebhookFormat = "ntfy"  // a message to a topic of ntfy
	FormatSlack   WebhookFormat = "slack" // a message to an incoming webhook of Slack
)

// WebhookEvents returns all types, in the order in which people are shown them.
func WebhookEvents() []WebhookEvent {
	return []WebhookEvent{
		WebhookTurnFinished, WebhookInteractionOpened, WebhookFollowupAnswered, WebhookFollowupFailed,
	}
}
