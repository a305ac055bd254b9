package servers

import (
	"context"
	"log/slog"
	"time"

	"bellhop/internal/process"
)

// Spec describes the server of a key.
type Spec struct {
	Key string // one server per key

	// Command returns the program for a port. Its Output is ignored: stdout is read for Ready,
	// stderr is kept for Exit.
	Command func(port int) process.Command

	// Ready, if set, reports whether a line of stdout means that the server accepts requests;
	// no probe is sent before.
	Ready func(line string) bool

	// Health probes the server once. ctx ends after Options.ProbeTimeout.
	Health func(ctx context.Context, port int) error

	// PortTaken, if set, reports whether the last lines of a program that ended before it was
	// healthy mean that its port was in use.
	PortTaken func(lines []string) bool
}

// Options of a Manager; all are optional.
type Options struct {
	Ports        *Ports        // shared with other users of ports; nil = its own
	StartTimeout time.Duration // from Start to healthy, over all tries; 0 = 30 s
	ProbeTimeout time.Duration // per health probe; 0 = 1 s
	ProbeEvery   time.Duration // pause between probes; 0 = 50 ms
	Tries        int           // ports tried per Start; 0 = 3
	Grace        time.Duration // between SIGINT, SIGTERM and SIGKILL; 0 = process.DefaultGrace
	Log          *slog.Logger

	// Memory names a file, which one Manager uses at a time. It remembers the ports of the
	// keys, so that Restart takes them again after a restart of this program. "" = none.
	Memory string
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

// Info describes a server that runs or ran.
type Info struct {
	Key  string
	Port int
	Pid  int
}

// Exit is how a server ended.
type Exit struct {
	Wanted bool     // ended by Stop, Restart or Close
	Err    error    // nil after exit status 0
	Lines  []string // the last lines of stderr, at most 50
}

// Callbacks are called when servers start or stop; either may be nil. Calls are serialised and
// must not call the Manager.
type Callbacks struct {
	Started func(Info)
	Stopped func(Info, Exit)
}
