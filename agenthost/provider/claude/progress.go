package claude

import (
	"encoding/json"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

// progress follows the program's own turns, to detect when all work for the prompt
// has ended. The zero progress has seen nothing.
type progress struct {
	echoed   bool // the program has accepted the prompt
	inTurn   bool // init arrived, and the result did not yet
	states   bool // the program reports its state: idle or working
	idle     bool // the last state that it reported was idle
	tasks    int  // running background tasks
	notified bool // a task ended: a turn without a prompt may follow

	last *agenthost.Outcome // of the latest result, or of the first one that is an error
	cost cost

	interrupted bool // the interrupt was sent
	stopped     bool // the program has stopped working since the interrupt
}

// track updates the progress with one message. id is the id of the prompt.
func (p *progress) track(id string, m *message) {
	switch {
	case m.result != nil:
		p.result(m.result)
	case m.chat != nil && m.Type == "assistant":
		p.cost.message(m)
	case m.stream != nil:
		p.cost.delta(m)
	case m.reply != nil && m.reply.RequestID == interruption:
		// Without a turn no result follows, and without states no report: this reply
		// alone shows that the program has stopped.
		p.stopped = p.stopped || p.interrupted && !p.states && !p.inTurn
	case m.chat != nil && m.chat.IsReplay && m.chat.UUID == id:
		p.echoed = true
	case m.system != nil:
		p.system(m)
	}
}

func (p *progress) system(m *message) {
	switch m.Subtype {
	case "init":
		p.inTurn, p.notified = true, false
	case "background_tasks_changed":
		p.notified = p.notified || p.tasks > 0 && len(m.system.Tasks) == 0
		p.tasks = len(m.system.Tasks)
	case "task_notification":
		p.notified = true
	case "session_state_changed":
		p.states, p.idle = true, m.system.State == "idle"
		if p.idle {
			// Only a background task that still runs can lead to a turn after idle.
			p.notified = p.notified && p.tasks > 0
			p.stopped = p.stopped || p.interrupted
		}
	}
}

// result records the end of one of the program's turns. If one of several results
// is an error, the error stays the outcome.
func (p *progress) result(r *result) {
	p.inTurn = false
	p.stopped = p.stopped || p.interrupted && !p.states
	p.cost.add(r)
	outcome := r.outcome()
	if p.last == nil || p.last.FinishReason != protocol.FinishError {
		p.last = &outcome
	}
}

// begun reports whether the program works, or has worked, on the prompt.
func (p *progress) begun() bool { return p.echoed || p.inTurn || p.last != nil }

// busy reports whether the program is working.
func (p *progress) busy() bool { return p.inTurn || p.tasks > 0 }

// over reports whether the prompt has its answer and no further turn will come.
func (p *progress) over() bool {
	return p.answered() && !p.busy() && !p.notified && p.quiet()
}

// quiet reports whether the program is idle, as far as it reports its state.
func (p *progress) quiet() bool { return !p.states || p.idle }

// answered reports whether there is an outcome. If the program accepted the prompt
// and is idle again without a result, no result will come.
func (p *progress) answered() bool {
	return p.last != nil || p.states && p.idle && p.echoed && !p.inTurn
}

// expecting reports whether nothing is running and only a turn without a prompt may
// still come.
func (p *progress) expecting() bool {
	return p.last != nil && !p.busy() && p.notified && p.quiet()
}

// interruptible reports whether the interrupt can be sent now.
func (p *progress) interruptible() bool { return !p.interrupted && p.begun() }

func (p *progress) outcome() agenthost.Outcome {
	if p.last == nil {
		return *stdio.Failure("The agent accepted the prompt and gave no answer")
	}
	outcome := *p.last
	outcome.Usage = p.usage()
	return outcome
}

func (p *progress) usage() json.RawMessage { return p.cost.usage() }
