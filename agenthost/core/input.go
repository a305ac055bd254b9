package core

import (
	"encoding/json"
	"time"

	"bellhop/policy"
	"bellhop/protocol"
)

// Input is one thing that happened to a session. Every input is plain data, in
// JSON too. What comes from an agent is masked before it becomes an input.
type Input interface{ apply(x *Step) error }

// Inputs about the session itself (epoch.go).
type (
	// Opened is POST /session of a broker.
	Opened struct {
		Request        protocol.OpenSessionRequest `json:"request"`
		DefaultAgent   string                      `json:"defaultAgent"` // of a new session
		Token          TokenRecord                 `json:"token"`
		TurnKnown      bool                        `json:"turnKnown"`      // the journal has the request's turn
		WebhookExpires time.Time                   `json:"webhookExpires"` // of the token in webhookUrl; zero: unknown

		KeyHash string `json:"keyHash,omitempty"` // of the key that the broker sent; "" for none

		OwnerKeyHash string `json:"ownerKeyHash,omitempty"` // of the key of the session's user; "" for none

		Act *ActRecord `json:"act,omitempty"`
	}
	// HeadlessOpened opens a session without a broker, or adds a token to one.
	HeadlessOpened struct {
		Agent        string      `json:"agent"`
		Model        string      `json:"model"`
		Project      string      `json:"project"`
		Instructions string      `json:"instructions"`
		Token        TokenRecord `json:"token"`

		Mode protocol.PermissionMode `json:"mode,omitempty"`
	}
	// KeyReleased forgets the broker's key: the next /session may bind another.
	KeyReleased struct{}
	// TokensRevoked drops the session's stream tokens and its streams.
	TokensRevoked struct{}
	// WorkspaceUsed is the directory that the session's agent is opened in.
	WorkspaceUsed struct {
		Dir    string `json:"dir"`
		Secret string `json:"secret"` // of programs there; "" when there is no listener for them
	}
	// Recovered is the first input after a start of the host: what the journal holds.
	Recovered struct {
		Loaded         Loaded           `json:"loaded"`
		Events         []protocol.Event `json:"events"` // of the turn that was open
		WebhookExpires time.Time        `json:"webhookExpires"`
	}
	// Deleted ends the session. CodeBusy while a turn is open.
	Deleted struct{}
)

// Inputs about turns (turn.go, queue.go).
type (
	// Prompted starts a turn, or queues it. Place must have returned PlaceNew or
	// PlaceAnnounced for it. CodeBusy, CodeNoTurn, CodePromptMismatch, CodeUnavailable.
	Prompted struct {
		TurnID       string                 `json:"turnId"`
		New          bool                   `json:"new"` // the turn was not announced
		Request      protocol.PromptRequest `json:"request"`
		Journaled    string                 `json:"journaled"`    // the prompt, masked
		Instructions string                 `json:"instructions"` // go before the prompt
		HostStopping bool                   `json:"hostStopping"`
		Line         bool                   `json:"line"`     // of a client of lines: it never waits
		ReadOnly     bool                   `json:"readOnly"` // its sender may not start turns
	}
	// QueueAdvanced starts the first queued turn, if no turn is open.
	QueueAdvanced struct {
		Instructions string `json:"instructions"`
		HostStopping bool   `json:"hostStopping"`
	}
	// QueueDropped gives up the first queued turn. With Unwritten its finish is
	// left to the next start of the host.
	QueueDropped struct {
		Unwritten bool `json:"unwritten"`
	}
	// AnnouncementExpired ends an announced turn whose last token has expired.
	AnnouncementExpired struct {
		TurnID  string    `json:"turnId"`
		Expires time.Time `json:"expires"`
	}
	// AgentStarted is the agent that a turn runs with.
	AgentStarted struct {
		TurnID  string `json:"turnId"`
		Agent   string `json:"agent"`
		Project string `json:"project"`
	}
	// AgentEnded ends a turn.
	AgentEnded struct {
		TurnID  string   `json:"turnId"`
		Outcome Outcome  `json:"outcome"`
		Others  Activity `json:"others"` // of other programs in the workspace
	}
	// Interrupted stops the open turn: its agent is to return. With Announced it also stops a turn
	// that is only announced, if no other is open: that turn ends at once when its prompt comes.
	Interrupted struct {
		Reason    string `json:"reason"`
		TurnID    string `json:"turnId,omitempty"` // the only turn to stop; "": whichever it is
		Announced bool   `json:"announced,omitempty"`
	}
	// StepFailed ends the open turn's output: a step of it could not be written.
	StepFailed struct {
		TurnID  string        `json:"turnId"`
		Code    protocol.Code `json:"code"`
		Message string        `json:"message"`
		Reason  string        `json:"reason"` // not empty: an interruption could not be written either
	}
)

// What an agent reports (text.go, call.go, question.go).
type (
	// AgentText adds to a block, opening one if there is none.
	AgentText struct {
		TurnID string    `json:"turnId"`
		Kind   BlockKind `json:"kind"`
		Text   string    `json:"text"`
	}
	// AgentTextEnded closes the text block. Final wins over the sum of its parts.
	AgentTextEnded struct {
		TurnID string    `json:"turnId"`
		Final  string    `json:"final"`
		About  TextAbout `json:"about,omitzero"`
	}
	// AgentReasoningEnded closes the reasoning block.
	AgentReasoningEnded struct {
		TurnID string `json:"turnId"`
	}
	// AgentCalled announces a tool call.
	AgentCalled struct {
		TurnID    string   `json:"turnId"`
		Call      ToolCall `json:"call"`
		Truncated bool     `json:"truncated"`
	}
	// AgentResulted is the result of a call.
	AgentResulted struct {
		TurnID    string     `json:"turnId"`
		Result    ToolResult `json:"result"`
		Truncated bool       `json:"truncated"`
	}
	// AgentAsked is a question to the user. Ruling is what the policy decides about
	// a confirm; nil: it was not asked.
	AgentAsked struct {
		TurnID   string                   `json:"turnId"`
		Kind     protocol.InteractionKind `json:"kind"`
		Question Question                 `json:"question"`
		Timeout  time.Duration            `json:"timeout"` // unless the question or the ruling has one
		Ruling   *Ruling                  `json:"ruling,omitempty"`
		Aside    bool                     `json:"aside,omitempty"` // the host asks: the agent's text goes on
	}
	// AgentNoticed shows something that is not kept.
	AgentNoticed struct {
		TurnID  string `json:"turnId"`
		Level   string `json:"level"`
		Message string `json:"message"`
	}
	// AgentReminded shows that the agent was given the record of the session.
	AgentReminded struct {
		TurnID  string                   `json:"turnId"`
		Context protocol.ContextRestored `json:"context"`
	}
	// AgentNamed is the agent's own id of the session.
	AgentNamed struct {
		TurnID         string `json:"turnId"`
		AgentSessionID string `json:"native"`
	}
	// AgentChecking reports that the connection to the agent is lost, or is back.
	AgentChecking struct {
		TurnID string `json:"turnId"`
		Lost   bool   `json:"lost"`
	}
)

// Inputs about questions (question.go).
type (
	// Answered is the user's answer. Text and Reason are masked; the agent gets Raw.
	Answered struct {
		InteractionID string                 `json:"interactionId"`
		Request       protocol.AnswerRequest `json:"request"`
		Raw           Answer                 `json:"-"`
	}
	// QuestionExpired ends a question whose time is over.
	QuestionExpired struct {
		InteractionID string `json:"interactionId"`
	}
	// QuestionCancelled ends a question that the agent no longer waits for.
	QuestionCancelled struct {
		InteractionID string `json:"interactionId"`
		Expired       bool   `json:"expired"` // the agent gave up by itself
	}
)

// Inputs about delivery (delivery.go).
type (
	// DeliveryAccepted is a 2xx response.
	DeliveryAccepted struct {
		Sent   Sent             `json:"sent"`
		Cursor *protocol.Cursor `json:"cursor,omitempty"`
		Object bool             `json:"object"` // the body is a JSON object

		Incarnation string `json:"incarnation,omitempty"` // of the broker's database
	}
	// DeliveryRefused is any other response.
	DeliveryRefused struct {
		Sent    Sent    `json:"sent"`
		Refusal Refusal `json:"refusal"`
	}
	// DeliveryFailed is a request without a response, or one that could not be made.
	DeliveryFailed struct {
		What  string        `json:"what"`
		Cause string        `json:"cause"`
		Least time.Duration `json:"least"` // shortest wait before the next attempt
	}
	// TokenRenewed is the broker's new webhook address.
	TokenRenewed struct {
		AddressVersion int       `json:"address"` // Delivery.AddressVersion when the renewal was sent
		URL            string    `json:"url"`
		Expires        time.Time `json:"expires"`

		Cursor      *protocol.Cursor `json:"cursor,omitempty"` // of the task
		Incarnation string           `json:"incarnation,omitempty"`
	}
	// RenewalRefused is any other response to a renewal.
	RenewalRefused struct {
		Refusal Refusal `json:"refusal"`
	}
	// IncarnationSeen is the incarnation of the broker's database that another
	// session saw, or that the broker sent. Force compares in any case.
	IncarnationSeen struct {
		ID    string `json:"id"`
		Force bool   `json:"force"`
	}
	// RenewalDue has the webhook token renewed.
	RenewalDue struct{}
	// PositionSaved writes how far the broker is.
	PositionSaved struct{}
	// PendingCounted is how many events follow the acknowledged one.
	PendingCounted struct {
		Events int64 `json:"events"`
	}
	// PendingRead holds all unacknowledged events, to be renumbered.
	PendingRead struct {
		Version int           `json:"version"`
		Events  []EventRecord `json:"events"`
	}
)

// Inputs about status (status.go).
type (
	// HookReported is what other programs in the session's workspace do.
	HookReported struct {
		Dir    string   `json:"dir"`
		Others Activity `json:"others"`
	}
	// TerminalAttached keeps the session from being idle. A terminal client that is open
	// reports so again before For is over.
	TerminalAttached struct {
		Opening bool          `json:"opening"`       // a terminal client is about to start
		For     time.Duration `json:"for,omitempty"` // prompts are refused for so long; 0: as before
		Closed  bool          `json:"closed,omitempty"`
	}
	// TerminalWorked is a turn that a user made in the agent's terminal client, and that is
	// over. CodeBusy while a turn of the host is open.
	TerminalWorked struct {
		TurnID  string         `json:"turnId"`
		Prompt  string         `json:"prompt"` // masked, as the items are
		Items   []TerminalItem `json:"items"`
		Outcome Outcome        `json:"outcome"`
	}
	// Idled ends the time that an idle session keeps its frames and its program.
	Idled struct{}
)

// TerminalItem is a text, a call or a result of a TerminalWorked. Exactly one is set.
type TerminalItem struct {
	Text      string      `json:"text,omitempty"`
	Call      *ToolCall   `json:"call,omitempty"`
	Result    *ToolResult `json:"result,omitempty"`
	Truncated bool        `json:"truncated,omitempty"` // of the call or the result
	At        time.Time   `json:"at"`
}

// Activity is a status with its reason.
type Activity struct {
	Status protocol.Status `json:"status"`
	Reason string          `json:"reason"`
}

// Ruling is a decision of the policy.
type Ruling struct {
	policy.Decision
	Timeout time.Duration `json:"timeout"` // replaces Decision.Timeout, which JSON leaves out
}

// Prompt is the user's side of a turn.
type Prompt struct {
	TurnID      string
	Text        string
	Attachments []protocol.Attachment
}

// RawAnswer returns the answer in a request as the agent gets it.
func RawAnswer(req *protocol.AnswerRequest) Answer {
	return Answer{Approved: req.Approved != nil && *req.Approved, Text: req.Text, Reason: req.Reason}
}

// Outcome is how a turn ended.
type Outcome struct {
	FinishReason protocol.FinishReason // "" means stop
	Reason       string                // protocol.ReasonAborted after Interrupt
	Usage        json.RawMessage       // JSON object or nil; the recordings of providers hold its null
	Err          string                // with FinishError: what to show the user
}

// ToolCall is a call of a tool by the agent. Input is any JSON.
type ToolCall struct {
	ID    string
	Name  string
	Input json.RawMessage `json:",omitempty"`
}

// ToolResult answers the call of the same ID. Output is any JSON.
type ToolResult struct {
	ID      string
	Name    string
	Output  json.RawMessage `json:",omitempty"`
	IsError bool
	Denied  bool // the user or a rule refused
}

// Question is asked of the user. ToolCallID ties a confirm to its call, if the
// agent names it.
type Question struct {
	Prompt     string
	ToolCallID string
	ToolName   string
	Args       json.RawMessage `json:",omitempty"`
	Input      json.RawMessage `json:"-"` // what the policy checks, where Args only describe the call; nil: Args
	Level      string          // INFO, WARN or CRITICAL, "" unknown
	Warning    string          `json:",omitempty"` // the danger of the call, for the user
	Default    string
	Options    []string
	Timeout    time.Duration // 0 = the host's
	Shape      string        `json:",omitempty"` // what a yes for the session covers, from the policy; "" = this call only

	// Offered is set for a confirm to which the agent does not take both a yes and a no for only this call.
	Offered *Offered `json:",omitempty"`
}

// Offered is what an agent takes as answers to a confirm.
type Offered struct {
	Yes, No bool      // it takes this answer for only the call
	Lasting []Lasting // its other answers
}

// Lasting is an answer of an agent that holds for more than one call. A person picks it by its name.
type Lasting struct {
	Name     string
	Approves bool
}

// TextAbout is what an agent sends with a text. It passes through unchanged.
type TextAbout struct {
	Format    string          `json:"format,omitempty"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`  // an object
	Timestamp json.RawMessage `json:"timestamp,omitempty"` // milliseconds since 1970; without it the host's time counts
}

// Answer is the user's answer to a question, or what replaces it.
type Answer struct {
	Approved bool
	Text     string
	Reason   string
	Expired  bool
	Picked   int // the number, from 1, of the answer of Offered.Lasting that the person picked; 0 for none
}
