package agent

import (
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"bellhop/protocol"
)

// ModelDemo is the scripted model, which is not a language model.
const ModelDemo = "demo"

// DefaultPieceDelay is the time before each piece of the demo model's text.
const DefaultPieceDelay = 25 * time.Millisecond

// Options configure one session. The zero value is the demo model in the
// current directory.
type Options struct {
	Dir       string // working directory; the file tools cannot leave it
	Model     string // "" or ModelDemo; with Completer, the name in message metadata
	SessionID string // binds the session from the start; with "" the first line binds it
	Task      string // runs as the first input; the session ends with it
	Version   string // of the program, for the hello line

	PieceDelay  time.Duration // pause of the demo model; below 20 ms for tests only
	CommandTime time.Duration // limit of one run_command; 0 is two minutes

	Completer    Completer // a language model, or a fake
	Instructions string    // the system message of Completer; see Instructions
	Window       int       // tokens a conversation may take, estimated; 0 is unbounded
	Tools        []Tool    // in addition to the agent's own

	Policy Policy // nil = each tool decides

	NewID func() string
	Now   func() time.Time
	Log   *slog.Logger
}

// fill sets the defaults and checks the options.
func (o Options) fill() (Options, error) {
	if o.Dir == "" {
		o.Dir = "."
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, &protocol.Error{Code: protocol.CodeInvalid, Message: "No working directory", Err: err}
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return o, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "The working directory " + o.Dir + " is not a directory",
			Hint: "Name an existing directory", Err: err,
		}
	}
	o.Dir = dir
	if o.PieceDelay <= 0 {
		o.PieceDelay = DefaultPieceDelay
	}
	if o.CommandTime <= 0 {
		o.CommandTime = 2 * time.Minute
	}
	if o.NewID == nil {
		o.NewID = protocol.NewID
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, o.fillCompleter()
}

func (o *Options) fillCompleter() error {
	switch {
	case o.Completer != nil:
		return nil
	case o.Model == "" || o.Model == ModelDemo:
		o.Model, o.Completer = ModelDemo, &demo{delay: o.PieceDelay}
		return nil
	default:
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "Unknown model " + o.Model,
			Hint: "The model that is built in is " + ModelDemo,
		}
	}
}
