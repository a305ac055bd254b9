package protocol

import "time"

// Times that two programs must agree on. wiregen writes them to the TypeScript
// client in milliseconds.
const (
	// PingInterval is how often a server sends a comment on a stream that is otherwise silent.
	PingInterval = 10 * time.Second
	// StreamIdleTimeout is the silence, pings included, after which a reader gives up a connection and opens another.
	StreamIdleTimeout = 3 * PingInterval
	// StreamWakeTimeout replaces StreamIdleTimeout after a reader's machine was asleep: one ping, and time to deliver it.
	StreamWakeTimeout = PingInterval + 2*time.Second
	// BasicSilence is how long a basic host may send nothing, neither events nor frames, before its turn counts as over.
	BasicSilence = 15 * time.Minute
	// ReconnectMinDelay is how long a reader waits after the first failure; every
	// further one in a row doubles it.
	ReconnectMinDelay = 500 * time.Millisecond
	// ReconnectMaxDelay limits the delay between two attempts of a reader.
	ReconnectMaxDelay = 30 * time.Second
	// PromptTimeout is how long a client may take to send a prompt, images included.
	PromptTimeout = time.Minute
	// WebhookTimeout limits a webhook request: the host gives up after it, and the
	// broker stops reading and storing.
	WebhookTimeout = 10 * time.Second
	// StreamTokenLifetime is how long an unused stream token stays valid.
	StreamTokenLifetime = 10 * time.Minute
	// WebhookTokenLifetime is how long a webhook token stays valid; the host renews it before that.
	WebhookTokenLifetime = 10 * time.Minute
)

// Sizes that two programs must agree on: in bytes, unless the comment says otherwise.
const (
	// MaxDepth is how many levels deep a body may nest.
	MaxDepth = 64
	// MaxLine limits a line of the headless interface. A longer one is rejected
	// without being buffered.
	MaxLine = 12 << 20
	// MaxPrompt limits the body of a prompt, images included: it must fit into one
	// line to an agent program.
	MaxPrompt = MaxLine
	// MaxCheckIn limits the body of a check-in: its message, its artifacts, and
	// room for their escaping.
	MaxCheckIn = 8 << 20
	// MaxMessage limits the text of a user's message.
	MaxMessage = 1 << 20
	// MaxArtifact limits the content of one artifact of a user's message.
	MaxArtifact = 256 << 10
	// MaxArtifacts is how many artifacts a user's message may have.
	MaxArtifacts = 20
	// MaxWorkspaceName limits the name of a workspace.
	MaxWorkspaceName = 64
	// MaxQueued is how many messages of a task may be queued.
	MaxQueued = 50
	// MaxQueue limits the content of a task's queued messages in all, attachments as base64.
	MaxQueue = 2 * MaxPrompt
	// MaxPatch limits the patch of a Diff.
	MaxPatch = 512 << 10
	// MaxWebhookBody limits the body of a webhook request.
	MaxWebhookBody = 1 << 20
	// MaxWebhookEvents is how many events a webhook request may contain.
	MaxWebhookEvents = 100
	// MaxEventsPage is how many events a host returns to one request for them.
	MaxEventsPage = 500
)

// Lengths of identifiers that a sender chooses, in bytes.
const (
	// MaxID limits id, toolCallId, toolName and interactionId of an event.
	MaxID = 512
	// MaxSessionID limits the id of a session, which is its task's id.
	MaxSessionID = 128
	// MaxTurnID limits the id of a turn.
	MaxTurnID = 128
	// MaxEventID limits the id of an event.
	MaxEventID = 128
	// MaxMessageID limits the messageId of a check-in, in characters.
	MaxMessageID = 128
)
