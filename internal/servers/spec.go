package servers

import (
	"context"
	"log/slog"
	"time"

	"bellhop/internal/process"
)

// Spec says what to run for a key.
type Spec struct {
	Key     string // one server each
	Project string // for StopAllForProject; may be ""

	// Command is the program for a port. Its Output is not used: stdout is read
	// here, stderr is kept for Exit.
	Command func(port int) process.Command

	// Ready, if set, says whether a line of stdout means that the server accepts
	// requests; no probe is sent before it.
	Ready func(line string) bool

	// Health asks the server once. ctx ends after Options.ProbeTimeout.
	Health func(ctx context.Context, port int) error

	// PortTaken, if set, says whether the last lines of a program that ended
	// before it was healthy mean that it could not have its port.
	PortTaken func(lines []string) bool
}

// Options of a Manager; all may be left out.
type Options struct {
	Ports        *Ports        // shared with whoever else needs ports; nil: its own
	StartTimeout time.Duration // from Start to healthy, all tries together; 0 = 30 s
	ProbeTimeout time.Duration // of one health probe; 0 = 1 s
	ProbeEvery   time.Duration // between two; 0 = 50 ms
	Tries        int           // ports tried in one Start; 0 = 3
	Grace        time.Duration // between SIGINT, SIGTERM and SIGKILL; 0 = process.DefaultGrace
	Log          *slog.Logger
}

func (o *Options) defaults() {
	if o.Ports == nil {
		o.Ports = NewPorts()
	}
	if o.StartTimeout <= 0 {
		o.StartTimeout = 30 * time.Second
	}
	if o.ProbeTimeout <= 0 {
		o.ProbeTimeout = time.Second
	}
	if o.ProbeEvery <= 0 {
		o.ProbeEvery = 50 * time.Millisecond
	}
	if o.Tries <= 0 {
		o.Tries = 3
	}
	if o.Grace <= 0 {
		o.Grace = process.DefaultGrace
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// Info is a server that runs or ran.
type Info struct {
	Key     string
	Project string
	Port    int
	Pid     int
}

// Exit is how a server ended.
type Exit struct {
	Wanted bool     // Stop, Restart, StopAllForProject or Close
	Err    error    // nil after exit status 0
	Lines  []string // the last of stderr, at most 50
}

// Callbacks are told of servers; either may be nil. They are called one after
// the other and must not call the Manager.
type Callbacks struct {
	Started func(Info)
	Stopped func(Info, Exit)
}
