package agenthost

import (
	"context"
	"errors"
	"log/slog"

	"bellhop/agenthost/core"
)

// Provider runs one kind of agent program. agenthost/provider/providertest is
// the contract in executable form.
type Provider interface {
	// Open makes an agent for a session. It starts no program: Run does.
	Open(ctx context.Context, spec AgentSpec) (Agent, error)
}

// AgentSpec is what an agent gets from its session.
type AgentSpec struct {
	SessionID string
	Dir       string   // working directory, exists
	StateDir  string   // the session's own HOME and configuration, exists, 0700
	Model     string   // "" = the agent's default
	Env       []string // further variables, KEY=value; secrets among them
	Native    string   // the agent's own session id of an earlier life, "" at first
	Local     *Local   // what of the host the agent can reach; nil: nothing
	Log       *slog.Logger
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

// Output is what a running agent says. Its methods are safe for concurrent
// use; each makes its event durable before it is announced, and an error from
// any of them (the journal cannot write, the turn is over) means: stop the turn.
type Output interface {
	// Text adds to the open text block, opening one if there is none.
	Text(delta string) error
	// EndText closes the open text block. A final text wins over the sum of
	// the deltas; "" means the sum. No open block and "" does nothing.
	EndText(final string) error

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
	// SetNative remembers the agent's own session id for AgentSpec.Native.
	SetNative(id string) error
}

// ErrExpired as the cause that ends the context of a Confirm or Ask makes the
// question expire; any other end withdraws it.
var ErrExpired = errors.New("the agent no longer waits for this answer")

// TerminalAgent is an Agent whose program has a terminal client that can be
// opened on the running session.
type TerminalAgent interface {
	Agent
	// Terminal readies the session for the client and says how to start it: the
	// program runs if the client needs it, and has let go of the session if two
	// would disturb each other. CodeConflict during a turn, if so.
	Terminal(ctx context.Context) (*Terminal, error)
}

// Terminal is a command for a person's terminal. Env holds secrets.
type Terminal struct {
	Command []string `json:"command"`
	Dir     string   `json:"dir"`
	Env     []string `json:"env"` // KEY=value, beside the person's own
}

// The values between a session and its agent are those of the core.
type (
	// Prompt is the user's side of a turn.
	Prompt = core.Prompt
	// Outcome says how a turn ended.
	Outcome = core.Outcome
	// ToolCall is a call of a tool by the agent.
	ToolCall = core.ToolCall
	// ToolResult is the result of a ToolCall.
	ToolResult = core.ToolResult
	// Question is a question of the agent to the user.
	Question = core.Question
	// Answer is the user's answer to a Question.
	Answer = core.Answer
)
