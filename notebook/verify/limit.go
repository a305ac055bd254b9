package verify

import (
	"context"
	"time"
)

const (
	// A check of 1,000 lines takes 10 to 120 ms. Hostile code must not keep a processor busy for longer than this.
	requestProcessorLimit = 2 * time.Second
	// For a worker that waits and computes nothing. The bridge of "bellhop mcp" waits a minute for an answer, so the
	// agent still gets one.
	requestLimit = 30 * time.Second

	// Compiling the grammars takes 6 s once per installation, and more on a slow machine.
	prepareProcessorLimit = time.Minute
	prepareLimit          = 5 * time.Minute

	shortestPause = 10 * time.Millisecond // between two looks at the processor time of a worker
)

// limits bound one request to a worker. The processor time bounds what the code may cost. The elapsed time also
// depends on what else the machine does, so its bound is wide. Where the processor time of another process cannot be
// read, elapsed time counts instead.
type limits struct{ processor, elapsed time.Duration }

// limit returns a context that ends when the process has exceeded a limit. It first looks at the processor time when
// that much time has passed, so most requests end before any look. A worker that runs on two processors may have used
// twice the limit by then.
func (v *Verifier) limit(ctx context.Context, p *process, l limits) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithTimeout(ctx, l.elapsed)
	begin, known := v.processorTime(p.cmd.Process.Pid)
	go func() {
		pause := time.NewTimer(l.processor)
		defer pause.Stop()
		for {
			select {
			case <-limited.Done():
				return
			case <-pause.C:
			}
			now, stillKnown := v.processorTime(p.cmd.Process.Pid)
			rest := l.processor - (now - begin)
			if !known || !stillKnown || rest <= 0 {
				cancel()
				return
			}
			pause.Reset(max(rest, shortestPause))
		}
	}()
	return limited, cancel
}
