package bench

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// scripted opens agents without programs; see play.
type scripted struct{}

// Open returns the agent of a session.
func (scripted) Open(context.Context, agenthost.AgentSpec) (agenthost.Agent, error) {
	return &scriptedAgent{}, nil
}

type scriptedAgent struct {
	running atomic.Pointer[playing] // nil when idle
}

// playing is a turn of a scripted agent.
type playing struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// Run plays a prompt.
func (a *scriptedAgent) Run(
	ctx context.Context, prompt agenthost.Prompt, out agenthost.Output,
) (agenthost.Outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	turn := &playing{cancel: cancel, ended: make(chan struct{})}
	a.running.Store(turn)
	defer close(turn.ended)
	defer a.running.Store(nil)
	err := caught(func() { play(ctx, prompt.Text, out) })
	if ctx.Err() != nil { // the turn was stopped
		return agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}, nil
	}
	return agenthost.Outcome{}, err
}

// Interrupt cancels the running turn and waits for its end, which comes at once.
func (a *scriptedAgent) Interrupt(context.Context) error {
	if turn := a.running.Load(); turn != nil {
		turn.cancel()
		<-turn.ended
	}
	return nil
}

// Stop is Interrupt: there is no program.
func (a *scriptedAgent) Stop(ctx context.Context) error { return a.Interrupt(ctx) }

// Close is Interrupt: there is no program.
func (a *scriptedAgent) Close(ctx context.Context) error { return a.Interrupt(ctx) }

// Marks before a time in Unix nanoseconds, in the text of parts: when the agent
// wrote the part. A text block ends right after the part with endMark.
const (
	partMark = "said@"
	endMark  = "done@"
)

// play supports three prompts: "say WORDS", "bulk BYTES", and "pace EVERY N". The
// last one writes a part at every tick until it is interrupted, and ends the block
// after N parts.
func play(ctx context.Context, prompt string, out agenthost.Output) {
	verb, rest, _ := strings.Cut(prompt, " ")
	switch verb {
	case "bulk":
		bulk(rest, out)
	case "pace":
		pace(ctx, rest, out)
	default:
		check(errors.Join(out.Text(rest), out.EndText("")))
	}
}

func bulk(size string, out agenthost.Output) {
	const piece = 16 << 10
	for left := must(strconv.Atoi(size)); left > 0; left -= piece {
		check(out.Text(strings.Repeat("x", min(left, piece))))
	}
	check(out.EndText(""))
}

func pace(ctx context.Context, args string, out agenthost.Output) {
	every, n, _ := strings.Cut(args, " ")
	perBlock := must(strconv.Atoi(n))
	ticker := time.NewTicker(must(time.ParseDuration(every)))
	defer ticker.Stop()
	for i := 1; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		mark, end := partMark, i%perBlock == 0
		if end {
			mark = endMark
		}
		check(out.Text("a few words " + mark + strconv.FormatInt(time.Now().UnixNano(), 10) + " "))
		if end {
			check(out.EndText(""))
		}
	}
}
