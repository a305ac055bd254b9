package terminal

import (
	"sync"
	"time"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// Report is what a program in a terminal reports about its turn. At most one member is set,
// but Text comes with Ended.
type Report struct {
	Began  bool   // Prompt was sent
	ID     string // of the turn, if the program names it
	Prompt string
	Call   *core.ToolCall
	Result *core.ToolResult
	Ended  bool
	Text   string // the last text of the turn
	Failed string // why the turn failed; "" if it did not
}

// IsEmpty reports that the report says nothing about a turn.
func (r *Report) IsEmpty() bool {
	return !r.Began && r.Call == nil && r.Result == nil && !r.Ended
}

const (
	maxPrograms = 256     // whose turns are collected at the same time
	maxBytes    = 4 << 20 // of one turn; what comes later is left out
)

// Collector collects the turns of programs in terminals from their reports. It is safe for concurrent use.
type Collector struct {
	now func() time.Time

	mu   sync.Mutex
	open map[Key]*collected
}

// Key names a program in the workspace of a session.
type Key struct{ Session, Program string }

type collected struct {
	turn Turn
	size int
	at   time.Time // of its last report
}

// NewCollector returns a collector without open turns.
func NewCollector(now func() time.Time) *Collector {
	return &Collector{now: now, open: map[Key]*collected{}}
}

// Drop forgets the open turn of a program, if there is one.
func (c *Collector) Drop(key Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, key)
}

// Add adds a report to the turn of its program, and returns the turns that are over. A turn without
// an end, which Esc leaves, ends with the next prompt, or with its program, whose last report is empty.
// If there are too many turns, the one without a report for longest is forgotten, because a program
// that was killed never reports its end.
func (c *Collector) Add(key Key, report *Report) (over []Turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left := c.open[key]; left != nil && (report.Began || report.IsEmpty()) {
		delete(c.open, key)
		left.turn.Outcome = core.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}
		over = append(over, left.turn)
	}
	if report.Began {
		c.makeRoom()
		c.open[key] = &collected{turn: Turn{ID: report.ID, Prompt: report.Prompt}}
	}
	one := c.open[key]
	if one == nil {
		return over
	}
	one.at = c.now()
	one.add(report, one.at)
	if report.Ended {
		delete(c.open, key)
		over = append(over, one.turn)
	}
	return over
}

// makeRoom forgets turns until another can be added. The lock is held.
func (c *Collector) makeRoom() {
	for len(c.open) >= maxPrograms {
		oldest, found := Key{}, (*collected)(nil)
		for key, one := range c.open {
			if found == nil || one.at.Before(found.at) {
				oldest, found = key, one
			}
		}
		delete(c.open, oldest)
	}
}

func (o *collected) add(report *Report, at time.Time) {
	item, size := core.TerminalItem{At: at}, 0
	switch {
	case report.Call != nil:
		item.Call, size = report.Call, len(report.Call.Input)
	case report.Result != nil:
		item.Result, size = report.Result, len(report.Result.Output)
	case report.Ended:
		if report.Failed != "" {
			o.turn.Outcome = core.Outcome{FinishReason: protocol.FinishError, Err: report.Failed}
		}
		if report.Text == "" {
			return
		}
		item.Text = report.Text
	default:
		return
	}
	if o.size += size; report.Ended || o.size <= maxBytes && len(o.turn.Items) < maxItems-1 {
		o.turn.Items = append(o.turn.Items, item)
	}
}
