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

// WebhookEvents returns all types, in the order in which people are shown them.
func WebhookEvents() []WebhookEvent {
	return []WebhookEvent{
		WebhookTurnFinished, WebhookInteractionOpened, WebhookFollowupAnswered, WebhookFollowupFailed,
	}
}
