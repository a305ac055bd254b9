package agenthost

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/delivery"
	"bellhop/agenthost/stream"
	"bellhop/crypto/seal"
	"bellhop/internal/observe"
	"bellhop/internal/process"
	"bellhop/protocol"
)

// WorkspaceRemover is a Workspaces that can clear up after a deleted session. A directory is kept if something
// exists only there.
type WorkspaceRemover interface {
	// OnlyCopies returns what Remove would keep.
	OnlyCopies(ctx context.Context, sessionID string) (*protocol.OnlyCopies, error)
	// Remove removes workspaces, and returns what exists only in those that it keeps. It keeps none if confirmed is the
	// id of what exists only there.
	Remove(ctx context.Context, sessionID, confirmed string) (kept *protocol.OnlyCopies, err error)
}

// WorkspaceFetcher is a Workspaces whose sessions commit outside their project.
// Fetch copies the commits into the project's repository.
type WorkspaceFetcher interface {
	Fetch(ctx context.Context, sessionID, project string) error
}

// FileLister is a Workspaces that lists all files of a session's workspace, and says which of them git ignores.
type FileLister interface {
	EachFile(ctx context.Context, sessionID, project string, each func(path string, isIgnored bool)) error
}

// DiskCounter is a Workspaces that reports how many bytes its directories take. It may report an earlier count.
type DiskCounter interface {
	DiskUse(ctx context.Context) (int64, error)
}

// Confined names what a program may use: the directories of a session. Agent is ""
// for a command of the project.
type Confined struct{ Session, Agent, Project, Dir, StateDir string }

// Sandbox confines the programs of sessions.
type Sandbox interface {
	// Confine changes a command so that it runs confined.
	Confine(to Confined, c process.Command) (process.Command, error)
	// Status is shown in the host's status, as JSON.
	Status() any
	// Notices describe a sandbox that does not keep the essential things.
	Notices() []string
}

// Poster sends the requests of delivery; an *http.Client is one. It must not follow
// redirects: they would send the webhook token elsewhere.
type Poster = delivery.Poster

// Options are what a Host is made of. Journal, Providers with the DefaultAgent
// among them, and Workspaces are required.
type Options struct {
	Journal      Journal
	Providers    map[string]Provider // by agent id
	DefaultAgent string
	Workspaces   Workspaces
	Sandbox      Sandbox       // nil: programs run as they are
	Poster       Poster        // nil: a client that refuses redirects
	Password     seal.Secret   // the bearer of webhook renewals
	Life         protocol.Life // of this start, for brokers; zero: they are told none
	BrokerLives  string        // file with the accepted lives of brokers' databases; "" = they are not kept over a start
	PublicURL    string        // what browsers use; becomes streamUrl when set

	// LocalURL is the base of the loopback listener for agents, http://127.0.0.1:PORT;
	// "" when there is none.
	LocalURL string

	Shells *ShellOptions // of users in workspaces; nil: they open none
	// Policy decides about confirms before a user is asked; nil asks every time.
	Policy Policy

	// Secrets returns the values that are masked in all output of the session's
	// agent (reliability PROC-6). Nil masks nothing.
	Secrets func(sessionID string) []string
	// Env returns further variables of the session's agent.
	Env func(sessionID string) []string

	// Record gets every input of every session in order, as JSON that a core.Recorded
	// reads, with known secrets masked. It is called with the session's lock held and
	// must return soon. Nil records nothing.
	Record func(sessionID string, entry json.RawMessage)

	TokenTTL           time.Duration // of stream tokens; 0: 10 min
	InteractionTimeout time.Duration // 0: 30 min
	IdleStop           time.Duration // an idle agent program is stopped after; 0: 10 min
	ActivityTimeout    time.Duration // a silent program in a terminal is taken to be idle after; 0: 10 min
	DrainTimeout       time.Duration // how long Run pushes outboxes at its end; 0: 2 s

	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // nil: discarded

	Observer observe.Observer // of turns and of requests with events; nil: none
}

// Grant is what a stream token allows.
type Grant struct {
	SessionID string
	TurnID    string // the announced turn it may start; "" on basic sessions
	Attach    bool   // reads, answers and interrupts; starts nothing

	Credential string // that the token was issued to, as its broker named it; "" for none
}

// Stream is a reader's share of a session's stream. Its reader must Close it.
type Stream = stream.Reader

// WorkspaceManager does what programs in a workspace may request for it and for the other
// workspaces of its project. Paths are absolute and clean. CodeNotFound: no
// workspace is there; CodeInvalid: a name that cannot be used, an unknown project.
type WorkspaceManager interface {
	Info(ctx context.Context, path string) (WorkspaceInfo, error)
	// Create makes a workspace of a project, or a plain directory for "". Only sessions of
	// the owner can work in it. CodeConflict: the name is taken.
	Create(ctx context.Context, project, name, owner string) (WorkspaceInfo, error)
	// Delete refuses a project's own directory, and without force uncommitted or
	// unpushed work: CodeConflict.
	Delete(ctx context.Context, path string, force bool) error

	// Metadata is durable. SetMetadata with nil deletes the key.
	Metadata(ctx context.Context, path string) (map[string]string, error)
	SetMetadata(ctx context.Context, path, key string, value *string) error

	// Command is a command line that the operator has named for the project.
	Command(path, name string) ([]string, bool)
	// Commands are their names, sorted.
	Commands(path string) []string
}

// WorkspaceInfo describes a workspace.
type WorkspaceInfo struct {
	Path    string
	Project string // "" for a plain directory
	Branch  string // "" without git
	Dirty   bool   // has uncommitted changes
	UsedBy  string // session that works in it although it was created by name; "" = none
}

// Journal is a host's durable memory; agenthost/journal implements it. Errors
// of a full disk have CodeStorageFull.
type Journal interface {
	// Write makes all of w durable, or nothing of it. It returns when it is on
	// disk. Concurrent writes share a commit; one that fails fails alone. It is
	// not cancelled once begun.
	Write(ctx context.Context, w *Write) error

	// Load returns every session, for the start of a host.
	Load(ctx context.Context) ([]Loaded, error)

	// Turn and Interaction return CodeNotFound when there is none.
	Turn(ctx context.Context, sessionID, turnID string) (*TurnRecord, error)
	Interaction(ctx context.Context, sessionID, interactionID string) (*InteractionRecord, error)
	// TurnsFrom returns the started turns of a session, ascending, beginning with
	// the one that held offset, or with the newest for -1. Empty when no turn
	// began at or before offset.
	TurnsFrom(ctx context.Context, sessionID string, offset int64) ([]TurnRecord, error)
	// TurnEvents returns a turn's events that have a part, ascending by offset.
	TurnEvents(ctx context.Context, sessionID, turnID string) ([]EventRecord, error)

	// Events returns events of one epoch with a seq above after.
	Events(ctx context.Context, sessionID string, epoch, after int64, limit int) ([]EventRecord, error)
	// Pending returns events after the cursor, over all epochs, ascending.
	Pending(ctx context.Context, sessionID string, after protocol.Cursor, limit int) ([]EventRecord, error)
	// Newest returns events before the cursor, descending, over all epochs.
	Newest(ctx context.Context, sessionID string, before protocol.Cursor, limit int) ([]EventRecord, error)
	// Prompt returns the prompt of a turn, "" if it was not stored.
	Prompt(ctx context.Context, sessionID, turnID string) (string, error)
	CountPending(ctx context.Context, sessionID string, after protocol.Cursor) (int64, error)

	// Act and LatestAct return CodeNotFound when there is none.
	Act(ctx context.Context, sessionID, id string) (*ActRecord, error)
	LatestAct(ctx context.Context, sessionID string) (*ActRecord, error)

	// Token returns CodeUnauthorized for an unknown hash.
	Token(ctx context.Context, hash []byte) (*TokenRecord, error)
	// DropTokens drops the tokens of a broker's sessions that were issued to a credential.
	DropTokens(ctx context.Context, brokerID, credential string) error
	DeadLetters(ctx context.Context, limit int) ([]DeadLetter, error)
	// Notices name the journals that were found damaged and set aside.
	Notices() []string
}

// Provider runs one kind of agent program. agenthost/provider/providertest is
// the contract in executable form.
type Provider interface {
	// Open makes an agent for a session. It starts no program: Run does.
	Open(ctx context.Context, spec AgentSpec) (Agent, error)
}

// Chooser is a Provider whose agent reports the models and the modes that it has. Both are
// empty until a session of the agent has begun.
type Chooser interface {
	Choices() (models, modes []protocol.Choice)
}

// Taker is a Provider that knows what kinds of files its agent takes.
type Taker interface {
	Attachments() []protocol.AttachmentKind
}

// AgentSpec is what an agent gets from its session.
type AgentSpec struct {
	SessionID string
	Dir       string   // working directory, exists
	StateDir  string   // the session's own HOME and configuration, exists, 0700
	Model     string   // "" = the agent's default
	Env       []string // further variables, KEY=value; secrets among them
	Local     *Local   // what of the host the agent can reach; nil: nothing
	Log       *slog.Logger

	// AgentSessionID is what the agent's program called the session when it last ran, "" at
	// first. The agent continues that conversation.
	AgentSessionID string

	// Report notifies the host of what the agent's program does outside its turns, because a
	// terminal client is connected to it: none, idle or busy, and idle with ReasonWaiting.
	// An agent repeats a status that lasts every few minutes. It may be called at any
	// time; nil: the host does not want it.
	Report func(status protocol.Status, reason protocol.StatusReason)

	// ReportTerminalTurn notifies the host of a turn that a user made in a terminal client, after its
	// end. A turn that the host knows by its ID is ignored. Nil: the host does not want it.
	ReportTerminalTurn func(turn TerminalTurn)

	// ReportTools notifies the host of the names of the tools that the program reports. It may be
	// called at any time; nil: the host does not want them.
	ReportTools func(names []string)

	// ReportCommands notifies the host of the slash commands of the program, as ReportTools does.
	ReportCommands func(list []protocol.Command)

	// Confine confines a program to the session. Providers set it on every command
	// that they start; nil: no sandbox.
	Confine func(process.Command) (process.Command, error)
}

// Local is the host's listener for its own agents, on the loopback. Providers
// write it into the configuration of agents that know MCP or hooks; Env has it
// too (BELLHOP_WORKSPACE_PATH, BELLHOP_MCP_PORT, BELLHOP_HOOK_PORT and
// BELLHOP_WORKSPACE_SECRET).
type Local struct {
	MCPURL  string // streamable HTTP, with Authorization: Bearer Secret
	HookURL string // POST, the same
	Secret  string // of this workspace alone
}

// Agent is the agent of one session. Run is never called twice at a time;
// Interrupt, Stop and Close may come from other goroutines at any moment.
type Agent interface {
	// Run does one turn and returns when the agent has finished it, starting
	// the program if none runs. It calls out's methods as things happen and
	// returns soon after one of them fails or ctx ends, with nothing of the
	// turn still running. A failure of the agent is an Outcome with
	// FinishError and Err, not an error; the error result is for turns that
	// never began (the program cannot be started).
	Run(ctx context.Context, prompt Prompt, out Output) (Outcome, error)

	// Interrupt stops the running turn: the agent's own cancel, then SIGINT,
	// SIGTERM and SIGKILL of its process group in 2 s steps. It returns when
	// the turn has stopped (Run returns too); nothing running is no error.
	Interrupt(ctx context.Context) error

	// Stop ends the program, if one runs; a later Run starts it again and
	// resumes. Close is Stop for good.
	Stop(ctx context.Context) error
	Close(ctx context.Context) error
}

// Output receives what a running agent does. Its methods are safe for concurrent
// use; each makes its event durable before it is announced, and an error from
// any of them (the journal cannot write, the turn is over) means: stop the turn.
type Output interface {
	// Text adds to the open text block, opening one if there is none.
	Text(delta string) error
	// EndText closes the open text block. Its text is final, or the sum of the deltas if
	// final is "". Without an open block, "" does nothing.
	EndText(final string) error
	// EndMessage is EndText with what the agent sends about the text.
	EndMessage(final string, about TextAbout) error

	// Reasoning adds to the open reasoning block; it is streamed, not kept.
	Reasoning(delta string) error
	EndReasoning() error

	// ToolCall closes the open blocks and announces a call. Call ids are
	// unique within a turn.
	ToolCall(call ToolCall) error
	ToolResult(result ToolResult) error

	// Confirm and Ask put a question to the user and wait for the answer, an
	// expiry (Approved false, Expired true) or the end of the turn (error).
	Confirm(ctx context.Context, q Question) (Answer, error)
	Ask(ctx context.Context, q Question) (Answer, error)

	// Checking reports that the connection to the program is lost, or back. While
	// it is lost, open questions show as being checked, and Confirm and Ask hold
	// answers back. A question that the agent no longer has is given up by
	// ending its context with ErrExpired: it returns an expiry, and no error.
	Checking(lost bool) error

	// Restored returns the record of the session so far, as a bounded text to put
	// before the prompt, and shows the user that the agent continues from it: for an
	// agent whose own memory is gone. "" when the session has no turns yet.
	Restored(ctx context.Context) (string, error)

	// Notice shows something that is not kept: a data-notice part.
	Notice(level, message string)
	// SetAgentSessionID remembers the agent's own session id for AgentSpec.AgentSessionID.
	SetAgentSessionID(id string) error
}

// ErrExpired as the cause that ends the context of a Confirm or Ask makes the
// question expire; any other end cancels it.
var ErrExpired = errors.New("the agent no longer waits for this answer")

// TerminalAgent is an Agent whose program has a terminal client that can be
// opened on the running session.
type TerminalAgent interface {
	Agent
	// Terminal prepares the session for the client and returns how to start it. If the client
	// needs the program, it runs then. If the two would disturb each other, the program has
	// closed the session; during a turn the error is then CodeConflict.
	Terminal(ctx context.Context) (*Terminal, error)
}

// RestartingAgent is an Agent to whose program clients are connected.
type RestartingAgent interface {
	Agent
	// Restart ends the program and, if it ran, starts it again where its clients find
	// it. No turn runs meanwhile.
	Restart(ctx context.Context) error
}

// Terminal is a command for a person's terminal. Env holds secrets.
type Terminal struct {
	Command []string `json:"command" openapi:"nullable"`
	Dir     string   `json:"dir"`
	Env     []string `json:"env" openapi:"nullable"` // KEY=value, beside the person's own
	Dials   []int    `json:"-"`                      // ports of the loopback that it connects to
}

// The records of the journal, and the values between a session and its agent, are those of the core.
type (
	// Write holds the rows of one durable step.
	Write = core.Write
	// SessionRecord is the row of a session.
	SessionRecord = core.SessionRecord
	// TurnRecord is the row of a turn.
	TurnRecord = core.TurnRecord
	// TurnState says whether a turn is announced, open or finished.
	TurnState = core.TurnState
	// PromptRecord is the row of a turn's prompt.
	PromptRecord = core.PromptRecord
	// EventRecord is the row of an event.
	EventRecord = core.EventRecord
	// InteractionRecord is the row of a question.
	InteractionRecord = core.InteractionRecord
	// TokenRecord is the row of a stream token.
	TokenRecord = core.TokenRecord
	// Loaded is all that a start reads of a session.
	Loaded = core.Loaded
	// DeadLetter is an event that the broker refused for good.
	DeadLetter = core.DeadLetter
	// OutboxState is the state of a session's delivery.
	OutboxState = core.OutboxState
	// Prompt is what a user asks of an agent.
	Prompt = core.Prompt
	// Outcome is how an agent ended a turn.
	Outcome = core.Outcome
	// TerminalItem is a text, a call or a result of a TerminalTurn.
	TerminalItem = core.TerminalItem
	// ToolCall is an agent's use of a tool.
	ToolCall = core.ToolCall
	// ToolResult is the end of a ToolCall.
	ToolResult = core.ToolResult
	// TextAbout is what an agent sends with a text.
	TextAbout = core.TextAbout
	// Question is an agent's question to its user.
	Question = core.Question
	// Offered is what an agent takes as answers to a confirm.
	Offered = core.Offered
	// Lasting is an answer of an agent that holds for more than one call.
	Lasting = core.Lasting
	// Answer is the user's answer to a Question.
	Answer = core.Answer
)

// Turn states.
const (
	TurnAnnounced = core.TurnAnnounced
	TurnOpen      = core.TurnOpen
	TurnFinished  = core.TurnFinished
)

// Outbox states.
const (
	OutboxOK       = core.OutboxOK
	OutboxSending  = core.OutboxSending
	OutboxRetrying = core.OutboxRetrying
	OutboxStopped  = core.OutboxStopped
	OutboxUnknown  = core.OutboxUnknown
	OutboxNone     = core.OutboxNone
)

// OutboxStates returns all states of an outbox.
func OutboxStates() []OutboxState {
	return []OutboxState{OutboxOK, core.OutboxSending, core.OutboxRetrying, OutboxStopped, core.OutboxUnknown, OutboxNone}
}
