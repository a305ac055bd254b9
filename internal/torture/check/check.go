package check

import (
	"fmt"
	"slices"
)

// Violation is a broken rule.
type Violation struct {
	Rule    string `json:"rule"`
	Session string `json:"session"`
	What    string `json:"what"`
}

func (v Violation) String() string { return fmt.Sprintf("%s [%s] %s", v.Rule, v.Session, v.What) }

// Run returns every violation in an observation, in the order of its sessions.
func Run(o *Observation) []Violation {
	var found []Violation
	for _, s := range o.Sessions {
		c := newChecker(s)
		c.quiet()
		c.journal()
		c.served()
		c.database()
		c.receipts()
		c.turns()
		c.contents()
		c.prompts()
		c.usage()
		c.acts()
		c.users()
		c.answers()
		c.displayed()
		c.readings()
		found = append(found, c.found...)
	}
	return found
}

// checker collects the violations of one session.
type checker struct {
	*Session
	found []Violation

	journaled map[string]Event // by event id
	known     map[string]Event // journaled, or in a journal that a restore replaced
	stored    map[string]Event // rows by event id

	acknowledged map[string]Event   // by the broker, in a journal that a restore replaced
	unsettled    map[string][]Event // in journals that a restore replaced, which knew no answer of the broker
}

func newChecker(s *Session) *checker {
	c := &checker{
		Session: s, journaled: map[string]Event{}, known: map[string]Event{}, stored: map[string]Event{},
		acknowledged: map[string]Event{}, unsettled: map[string][]Event{},
	}
	for _, e := range s.Journal {
		c.journaled[e.ID] = e
	}
	for _, list := range [][]Event{s.Unsent, s.Forgotten, s.Journal} {
		for _, e := range list {
			c.known[e.ID] = e
		}
	}
	for _, e := range s.Forgotten {
		c.acknowledged[e.ID] = e
	}
	for _, e := range s.Unsent {
		c.unsettled[e.ID] = append(c.unsettled[e.ID], e)
	}
	for _, e := range s.Rows {
		c.stored[e.ID] = e
	}
	return c
}

func (c *checker) report(rule, format string, args ...any) {
	c.found = append(c.found, Violation{rule, c.ID, fmt.Sprintf(format, args...)})
}

// inOrder returns the rows that had effects, by position.
func (c *checker) inOrder() []Event {
	rows := slices.DeleteFunc(slices.Clone(c.Rows), func(e Event) bool { return e.Late })
	slices.SortStableFunc(rows, func(a, b Event) int {
		if a.At.less(b.At) {
			return -1
		}
		if b.At.less(a.At) {
			return 1
		}
		return 0
	})
	return rows
}
