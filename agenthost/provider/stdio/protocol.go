package stdio

import (
	"context"
	"encoding/json"
	"errors"

	"bellhop/agenthost"
)

// Protocol describes one kind of program for one session. M is a decoded message of
// the program.
type Protocol[M any] interface {
	// Command writes the configuration that the program reads when it starts, and
	// returns its arguments and its environment. Run returns its error.
	Command(ctx context.Context) (args, env []string, err error)

	// Connect returns the connection to a child that was just started; no line of
	// it has been read yet. deliver passes a message to the running turn, after all
	// messages that were delivered before; it returns false if no turn received the
	// message.
	Connect(child *Child, deliver func(M) bool) Connection[M]
}

// Connection is the state of the exchange with one child, across turns.
type Connection[M any] interface {
	// Decode decodes one line, which is valid until Decode returns. The message
	// goes to the running turn. ErrConsumed means that there is no message. Any
	// other error describes the line in a notice to the user.
	Decode(line []byte) (M, error)

	// Open resumes the session with this id, or starts a new one if the id is "" or
	// unknown. It returns the id to resume later, or "" if there is none yet, and
	// whether the next prompt must contain the restored context.
	Open(ctx context.Context, sessionID string, out agenthost.Output) (id string, memoryLost bool, err error)

	// Reject handles a message that arrived while no turn was running.
	Reject(message M)

	// Begin returns the exchange of one turn.
	Begin(t *Turn) Exchange[M]
}

// HangUp is an optional interface of a Connection. HangUp is called when the
// child's output has ended.
type HangUp interface{ HangUp() }

// Exchange is one turn with one child. The goroutine of Run calls its methods.
type Exchange[M any] interface {
	// Prompt sends the restored context, unless it is "", followed by the prompt.
	// After an error the turn counts as not begun.
	Prompt(ctx context.Context, prompt agenthost.Prompt, restored string) error

	// Handle maps one message to the Output. An outcome ends the turn. An error of
	// the Output cancels it.
	Handle(message M) (*agenthost.Outcome, error)

	// Cancel asks the program to stop the turn. The engine repeats the call after
	// every message, because some programs cannot be asked before they have begun;
	// the program must be asked only once.
	Cancel(ctx context.Context)

	// Drain handles a message of a turn that is being cancelled. It rejects
	// questions. If muted, it does not use the Output. stopped means that the
	// program has stopped the turn.
	Drain(message M, muted bool) (stopped bool, err error)

	// Close closes the open text and reasoning blocks. Unless the turn was
	// cancelled, the engine then adds results to calls without one.
	Close(cancelled bool) error

	// Usage returns the cost of the turn so far, for an outcome without usage; nil
	// if unknown.
	Usage() json.RawMessage
}

var (
	// ErrConsumed is returned by Decode for a line that the connection handled itself.
	ErrConsumed = errors.New("the connection handled this line")

	// ErrSessionLost is returned by Open when the program exited because it does
	// not know the session. The engine then starts another child, whose Command
	// must start a new session.
	ErrSessionLost = errors.New("the session is lost")
)
