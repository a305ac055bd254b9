package protocol

import "time"

// AgentSessionStatus is the state of a third-party agent's connection.
type AgentSessionStatus string

// Agent session statuses.
const (
	AgentActive       AgentSessionStatus = "active"
	AgentExpired      AgentSessionStatus = "expired"      // inactive for too long; renewable
	AgentDisconnected AgentSessionStatus = "disconnected" // by the user, who alone can renew it
)

// AgentSession is a third-party coding agent's connection to a user's notebook. NotebookID is
// absent after the user deleted the notebook.
type AgentSession struct {
	ID              string             `json:"id" jsonschema:"id of the agent session"`
	UserID          string             `json:"userId"`
	NotebookID      string             `json:"notebookId,omitempty"`
	AgentName       string             `json:"agentName"`
	AgentIdentifier string             `json:"agentIdentifier"`
	Status          AgentSessionStatus `json:"status" jsonschema:"active, expired or disconnected"`
	WebhookURL      string             `json:"webhookUrl,omitempty"`
	LastActivity    time.Time          `json:"lastActivity"`
	Metadata        map[string]any     `json:"metadata"`
	CreatedAt       time.Time          `json:"createdAt"`
}

// Notebook has the sources that one agent saved for one user. AgentStatus is the
// state of that agent's connection. Unread counts the agent's messages and the failures that the
// user's page has not shown; only routes of the user have it.
type Notebook struct {
	ID              string             `json:"id" jsonschema:"id of the notebook; save_code_with_context needs it"`
	UserID          string             `json:"userId"`
	Title           string             `json:"title"`
	Description     string             `json:"description"`
	AgentName       string             `json:"agentName"`
	AgentIcon       string             `json:"agentIcon"`
	AgentSessionID  string             `json:"agentSessionId"`
	AgentStatus     AgentSessionStatus `json:"agentStatus"`
	IsAgentNotebook bool               `json:"isAgentNotebook"`
	Unread          int                `json:"unread,omitempty" jsonschema:"only for the user"`
	CreatedAt       time.Time          `json:"createdAt"`
}

// Verdict is the result of a verification.
type Verdict string

// Verdicts. With VerifyUnsupported the code was not checked.
const (
	Verified          Verdict = "verified"
	VerifyFailed      Verdict = "failed"
	VerifyUnsupported Verdict = "unsupported"
)

// Claim says how far verified code was checked.
type Claim string

// Claims. ClaimTypeChecks includes ClaimParses.
const (
	ClaimParses     Claim = "parses"
	ClaimTypeChecks Claim = "type-checks"
)

// Diagnostic is one finding of a parser. Line and Column start at 1; they are 0 if
// the parser does not report them.
type Diagnostic struct {
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Message  string `json:"message"`
	Severity string `json:"severity" jsonschema:"error or warning"`
}

// Verification is the result of a parser or compiler front end. The code was not
// run. Claim and VerifiedAt are set only for the verdict "verified". Reason says why code was not
// checked, or not further than Claim. Summary is a sentence for people.
type Verification struct {
	Language    string       `json:"language"`
	Verdict     Verdict      `json:"verdict" jsonschema:"verified, failed or unsupported (not checked)"`
	Claim       Claim        `json:"claim,omitempty" jsonschema:"how far verified code was checked: parses or type-checks"`
	Summary     string       `json:"summary" jsonschema:"the result in a sentence"`
	Reason      string       `json:"reason,omitempty" jsonschema:"why the code was not checked, or not further"`
	Tool        string       `json:"tool" jsonschema:"the parser or compiler front end that judged"`
	ToolVersion string       `json:"toolVersion"`
	Diagnostics []Diagnostic `json:"diagnostics"`
	VerifiedAt  *time.Time   `json:"verifiedAt" jsonschema:"when the code was verified; null if it is not"`
	Digest      string       `json:"digest" jsonschema:"sha256 of the code that was judged"`
}

// Source is a piece of code in a notebook, at its newest version. In lists,
// Content is left out (and ContentOmitted set) beyond a total size. Unread is as in Notebook.
type Source struct {
	ID             string         `json:"id" jsonschema:"id of the source"`
	UserID         string         `json:"userId"`
	NotebookID     string         `json:"notebookId"`
	Title          string         `json:"title"`
	Type           string         `json:"type"`
	Content        string         `json:"content"`
	ContentOmitted bool           `json:"contentOmitted,omitempty"`
	Version        int64          `json:"version"`
	Unread         int            `json:"unread,omitempty" jsonschema:"only for the user"`
	Metadata       SourceMetadata `json:"metadata"`
}

// SourceMetadata describes a source. IsVerified is true only for the verdict
// "verified". Verification is null until a version was verified.
type SourceMetadata struct {
	Language        string             `json:"language"`
	IsVerified      bool               `json:"isVerified"`
	Verification    *Verification      `json:"verification"`
	VerifiedAt      *time.Time         `json:"verifiedAt"`
	AgentSessionID  string             `json:"agentSessionId"`
	AgentName       string             `json:"agentName"`
	AgentStatus     AgentSessionStatus `json:"agentStatus"`
	OriginalContext string             `json:"originalContext"`
	Custom          map[string]any     `json:"custom,omitempty"`
}

// SourceVersion is one state of a source's code; Diff is unified, against the
// version before. In lists, both are left out (and ContentOmitted set) beyond a
// total size.
type SourceVersion struct {
	Version        int64         `json:"version"`
	Content        string        `json:"content"`
	ContentOmitted bool          `json:"contentOmitted,omitempty"`
	Diff           string        `json:"diff"`
	Description    string        `json:"description"`
	Author         string        `json:"author"`
	MessageID      string        `json:"messageId,omitempty"`
	Verification   *Verification `json:"verification"`
	CreatedAt      time.Time     `json:"createdAt"`
}

// FollowupRole is the author of a message about a source.
type FollowupRole string

// Roles in a conversation about a source.
const (
	FollowupUser  FollowupRole = "user"
	FollowupAgent FollowupRole = "agent"
)

// FollowupMessage is a message of the conversation about a source.
type FollowupMessage struct {
	ID        string           `json:"id"`
	SourceID  string           `json:"sourceId"`
	Role      FollowupRole     `json:"role" jsonschema:"user or agent"`
	Content   string           `json:"content"`
	Timestamp time.Time        `json:"timestamp"`
	Metadata  FollowupMetadata `json:"metadata"`
}

// FollowupMetadata is the state of a message. A user's message is delivered when
// the agent has it, and read when the agent has answered. An agent's message is
// read when the user's page has shown it. Failure says why a message was not delivered or, if it
// was, why the agent refused it. Progress is set while a message is on its way to a webhook.
type FollowupMetadata struct {
	Delivered        bool                 `json:"delivered"`
	Read             bool                 `json:"read"`
	InReplyTo        string               `json:"inReplyTo,omitempty"`
	Failure          string               `json:"failure,omitempty"`
	Progress         *FollowupProgress    `json:"progress,omitempty"`
	CodeModification *CodeModification    `json:"codeModification,omitempty"`
	Attachments      []FollowupAttachment `json:"attachments,omitempty"`
}

// ProgressState is the state of a message on its way to an agent's webhook.
type ProgressState string

// States of a message on its way.
const (
	ProgressSending  ProgressState = "sending"  // due now, or in flight
	ProgressRetrying ProgressState = "retrying" // an attempt failed; the next one is at NextAttemptAt
	ProgressWaiting  ProgressState = "waiting"  // behind an earlier question about the same source
	ProgressHeld     ProgressState = "held"     // the webhook is disabled
)

// FollowupProgress says how far the delivery of a message is. LastError is of the last attempt.
type FollowupProgress struct {
	State         ProgressState `json:"state"`
	Attempts      int           `json:"attempts"`
	NextAttemptAt *time.Time    `json:"nextAttemptAt,omitempty"`
	LastError     string        `json:"lastError,omitempty"`
}

// CodeModification is a new version of the source that came with a message.
type CodeModification struct {
	Version     int64  `json:"version"`
	Description string `json:"description"`
	Diff        string `json:"diff" jsonschema:"unified diff against the version before"`
}

// FollowupAttachment is text that comes with a question or an answer. Type is a media type.
type FollowupAttachment struct {
	Name    string `json:"name" jsonschema:"such as a file's name"`
	Type    string `json:"type" jsonschema:"media type of the text, such as text/plain"`
	Content string `json:"content" jsonschema:"the text, at most 64 KiB"`
}

// DeliverySubject names what a delivery to an agent is about.
type DeliverySubject struct {
	AgentSessionID string `json:"agentSessionId"`
	AgentName      string `json:"agentName"`
	SourceID       string `json:"sourceId"`
	SourceTitle    string `json:"sourceTitle"`
	Question       string `json:"question"` // its first 200 characters
}

// Conversation has the messages about a source.
type Conversation struct {
	SourceID       string            `json:"sourceId"`
	NotebookID     string            `json:"notebookId"`
	UserID         string            `json:"userId"`
	AgentSessionID string            `json:"agentSessionId"`
	LastMessageAt  *time.Time        `json:"lastMessageAt"`
	Messages       []FollowupMessage `json:"messages"`
}

// Followup is a user's question that waits for the agent's answer. In a list, SourceCode and
// OriginalContext are sent once per source: SourceCodeIn names the message that has them.
// SourceCodeOmitted reports code beyond the list's total size. ConversationHistory begins with
// the agent's last answer before the question, and a list has each of its messages once.
type Followup struct {
	ID                  string               `json:"id" jsonschema:"id of the message; respond_to_followup needs it"`
	SourceID            string               `json:"sourceId"`
	SourceTitle         string               `json:"sourceTitle"`
	SourceVersion       int64                `json:"sourceVersion"`
	SourceLanguage      string               `json:"sourceLanguage"`
	SourceCode          string               `json:"sourceCode,omitempty" jsonschema:"the newest version of the code"`
	SourceCodeIn        string               `json:"sourceCodeIn,omitempty" jsonschema:"id of the earlier message here that has sourceCode and originalContext of this source"`
	SourceCodeOmitted   bool                 `json:"sourceCodeOmitted,omitempty" jsonschema:"the code is too large for this list: get_source has it"`
	OriginalContext     string               `json:"originalContext,omitempty" jsonschema:"why you saved the code"`
	Content             string               `json:"content" jsonschema:"what the user asks"`
	Timestamp           time.Time            `json:"timestamp"`
	Attachments         []FollowupAttachment `json:"attachments,omitempty"`
	ConversationHistory []FollowupMessage    `json:"conversationHistory" jsonschema:"what was said since your last answer, oldest first; long texts are cut, get_source has them whole"`
}

// FollowupDelivery is the body of a webhook to an agent.
type FollowupDelivery struct {
	Type                string               `json:"type"` // followup_message
	SourceID            string               `json:"sourceId"`
	SourceTitle         string               `json:"sourceTitle"`
	SourceCode          string               `json:"sourceCode"`
	SourceLanguage      string               `json:"sourceLanguage"`
	Message             string               `json:"message"`
	Attachments         []FollowupAttachment `json:"attachments,omitempty"`
	ConversationHistory []FollowupMessage    `json:"conversationHistory"`
	UserID              string               `json:"userId"`
	Timestamp           time.Time            `json:"timestamp"`
	MessageID           string               `json:"messageId"`
}

// AgentHint is a frame of the user's feed. It reports a change of an agent session:
// Event names the change, SourceID the source, if it concerns one.
type AgentHint struct {
	AgentSessionID string             `json:"agentSessionId"`
	Rev            int64              `json:"rev"`
	Status         AgentSessionStatus `json:"status"`
	Event          string             `json:"event"`
	SourceID       string             `json:"sourceId"`
}

// Events of AgentHint.
const (
	AgentEventConnected    = "connected"
	AgentEventDisconnected = "disconnected"
	AgentEventSource       = "source"          // a source was added or removed
	AgentEventMessage      = "message"         // the user's or the agent's
	AgentEventAnswered     = "answered"        // the agent's answer to a message
	AgentEventRead         = "read"            // the user has read messages
	AgentEventFailed       = "delivery_failed" // a message did not reach the agent
	AgentEventVerified     = "verified"        // a version was verified
	AgentEventWebhookGone  = "webhook_gone"    // the agent removed its webhook, or it answered 410: the agent polls
)
