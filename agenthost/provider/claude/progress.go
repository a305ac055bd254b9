package claude

import (
	"encoding/json"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// progress follows the program's turns to see when nothing of ours goes on. The
// zero progress has seen nothing.
type progress struct {
	echoed   bool // the program has taken the prompt
	inTurn   bool // init was seen, its result not
	states   bool // the program says when it is idle
	idle     bool // the last that it said
	tasks    int  // in the background
	notified bool // a task ended: a turn without a prompt may follow

	last  *agenthost.Outcome // of the results so far
	spent spent

	asked   bool // the interrupt was sent
	settled bool // the program has stopped since
}

// track takes in one message. id is that of the prompt.
func (p *progress) track(id string, s *saying) {
	switch {
	case s.result != nil:
		p.result(s.result)
	case s.reply != nil && s.reply.RequestID == interruption:
		p.settled = p.settled || p.asked && !p.states && !p.inTurn
	case s.said != nil && s.said.IsReplay && s.said.UUID == id:
		p.echoed = true
	case s.system != nil:
		p.system(s)
	}
}

func (p *progress) system(s *saying) {
	switch s.Subtype {
	case "init":
		p.inTurn, p.notified = true, false
	case "background_tasks_changed":
		p.notified = p.notified || p.tasks > 0 && len(s.system.Tasks) == 0
		p.tasks = len(s.system.Tasks)
	case "task_notification":
		p.notified = true
	case "session_state_changed":
		p.states, p.idle = true, s.system.State == "idle"
		if p.idle {
			p.notified = p.notified && p.tasks > 0
			p.settled = p.settled || p.asked
		}
	}
}

// result takes in the end of one of the program's turns. An error among several
// results stays: the turns that follow do not take it back.
func (p *progress) result(r *result) {
	p.inTurn = false
	p.settled = p.settled || p.asked && !p.states
	p.spent.add(r)
	outcome := r.outcome()
	if p.last == nil || p.last.FinishReason != protocol.FinishError {
		p.last = &outcome
	}
}

// begun tells whether the program works on the prompt.
func (p *progress) begun() bool { return p.echoed || p.inTurn || p.last != nil }

// busy tells whether the program works on anything.
func (p *progress) busy() bool { return p.inTurn || p.tasks > 0 }

// over tells whether the prompt has its answer and nothing more will come.
func (p *progress) over() bool {
	return p.said() && !p.busy() && !p.notified && p.quiet()
}

// quiet tells whether the program does not say that it is at work.
func (p *progress) quiet() bool { return !p.states || p.idle }

// said tells whether there is an outcome. A program that has taken the prompt
// and is idle again without a result gives none any more.
func (p *progress) said() bool {
	return p.last != nil || p.states && p.idle && p.echoed && !p.inTurn
}

// expecting tells whether nothing goes on and only a turn without a prompt is
// awaited.
func (p *progress) expecting() bool {
	return p.last != nil && !p.busy() && p.notified && p.quiet()
}

// interrupt notes that the interrupt was sent; stopped tells whether it worked.
func (p *progress) interrupt()    { p.asked = true }
func (p *progress) stopped() bool { return p.settled }

func (p *progress) outcome() agenthost.Outcome {
	if p.last == nil {
		return agenthost.Outcome{FinishReason: protocol.FinishError, Err: "The agent took the prompt and gave no answer"}
	}
	outcome := *p.last
	outcome.Usage = p.usage()
	return outcome
}

func (p *progress) usage() json.RawMessage { return p.spent.json() }
