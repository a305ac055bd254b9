package stdio

import (
	"context"
	"encoding/json"
	"errors"

	"bellhop/agenthost"
)

// Protocol describes one kind of program. A value serves one session. M is a decoded
// message of the program.
type Protocol[M any] interface {
	// Command writes the configuration that the program reads when it starts, and
	// returns its arguments and its environment. Its error is Run's.
	Command(ctx context.Context) (args, env []string, err error)

	// Connect returns the connection to a child that was just started; no line of
	// it has been read yet. deliver passes a message to the running turn, behind
	// all that was delivered before; it returns false if no turn took the message.
	Connect(child *Child, deliver func(M) bool) Connection[M]
}

// Connection is the conversation with one child.
type Connection[M any] interface {
	// Decode reads one line, which is valid until Decode returns. The message goes to
	// the running turn. ErrConsumed means that there is none to pass on; any other
	// error tells the user what the agent sent instead of a message.
	Decode(line []byte) (M, error)

	// Open resumes the session with this id, or starts a new one if it is "" or
	// unknown. It returns the id to resume later, "" if there is none yet, and whether
	// the next prompt has to bring the record of the conversation.
	Open(ctx context.Context, sessionID string, out agenthost.Output) (id string, memoryLost bool, err error)

	// Reject handles a message that arrived while no turn was running.
	Reject(message M)

	// Begin returns the exchange of one turn.
	Begin(t *Turn) Exchange[M]
}

// HangUp is a Connection that must know when the child's output has ended.
type HangUp interface{ HangUp() }

// Exchange is one turn with one child. The goroutine of Run calls its methods.
type Exchange[M any] interface {
	// Prompt sends the prompt, after restored, which is "" or the record of the conversation.
	// Its error is that of a turn that never began.
	Prompt(ctx context.Context, prompt agenthost.Prompt, restored string) error

	// Handle maps one message to the Output. An outcome ends the turn; an error, which
	// is the Output's, cancels it.
	Handle(message M) (*agenthost.Outcome, error)

	// Cancel asks the program to stop the turn, once. It is called again after every
	// message, as some programs cannot be asked before they have begun.
	Cancel(ctx context.Context)

	// Drain handles a message of a turn that is being cancelled. It rejects questions
	// and, if muted, leaves the Output alone. stopped means that the program has
	// stopped the turn.
	Drain(message M, muted bool) (stopped bool, err error)

	// Close closes the open text and reasoning blocks. Calls without a result get one
	// from the engine, unless the turn was cancelled.
	Close(cancelled bool) error

	// Usage is the cost of the turn so far, for an outcome that has none; nil if unknown.
	Usage() json.RawMessage
}

var (
	// ErrConsumed is returned by Decode for a line that the connection handled itself.
	ErrConsumed = errors.New("the connection handled this line")

	// ErrSessionLost is returned by Open when the program ended because it does not
	// know the session. The engine starts another child, whose Command is to start a
	// new session.
	ErrSessionLost = errors.New("the session is lost")
)
