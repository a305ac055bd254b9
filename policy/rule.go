package policy

import (
	"cmp"
	"strings"
	"time"
)

// rule is one compiled rule.
type rule struct {
	name     string
	tools    globs
	common   uint32 // bits of the common tools that tools match
	colon    bool   // nothing without a colon matches tools
	agents   globs
	projects globs
	hosts    globs
	commands []commandGlob
	paths    pathGlobs
	where    where
	args     []argumentGlob

	destructive bool // covers destructive deeds, and those alone
	decision    Decision
}

type where int

const (
	anywhere where = iota
	inside
	outside
)

// commandGlob matches the words of a command. A last * is any number of words.
type commandGlob struct {
	words globs
	more  bool
	first string // of words, if it is not wild
}

func newCommandGlob(pattern string) commandGlob {
	g := commandGlob{words: newGlobs(strings.Fields(pattern))}
	if n := len(g.words) - 1; n >= 0 && g.words[n].text == "*" {
		g.words, g.more = g.words[:n], true
	}
	if len(g.words) > 0 && !g.words[0].wild {
		g.first = g.words[0].text
	}
	return g
}

// match takes the program as it is named; loose also by its last element.
func (g *commandGlob) match(words []string, loose bool) bool {
	if len(words) < len(g.words) || len(words) > len(g.words) && !g.more {
		return false
	}
	if g.first != "" && !strings.HasSuffix(words[0], g.first) { // most rules are about other programs
		return false
	}
	for i := range g.words {
		if g.words[i].match(words[i]) {
			continue
		}
		if i > 0 || !loose || !g.words[0].match(words[0][strings.LastIndexByte(words[0], '/')+1:]) {
			return false
		}
	}
	return true
}

type argumentGlob struct {
	name string
	text globs
}

// speaks says whether the rule is about this agent, project and call at all.
func (r *rule) speaks(c *Call) bool {
	return r.agents.match(c.Agent) && r.projects.match(c.Project)
}

// match says whether the rule is the one for a deed of a call. A rule that lets
// something pass or asks about it covers destructive deeds only if it says so; one
// that denies covers them all the same.
func (r *rule) match(c *Call, in *input, d *deed) bool {
	if !r.uses(c.Tool, in.colon, d) {
		return false
	}
	denies, allows := r.decision.Action == Deny, r.decision.Action == Allow
	switch {
	case r.destructive && d.hazard == "", !r.destructive && !denies && d.hazard != "":
		return false
	case d.carrier && (allows || len(r.commands) == 0):
		return false
	}
	if len(r.commands) > 0 && !r.command(d, allows) {
		return false
	}
	if r.where != anywhere && (d.place == nil || d.place.inside() != (r.where == inside)) {
		return false
	}
	if len(r.paths) > 0 && (d.place == nil || !r.paths.match(d.place, allows)) {
		return false
	}
	if len(r.hosts) > 0 && (d.host == "" || !r.hosts.match(d.host)) {
		return false
	}
	for _, a := range r.args {
		text, ok := in.argument(a.name)
		if !ok || !a.text.match(text) {
			return false
		}
	}
	return true
}

// uses says whether the rule is about a deed's tool, by its common name or the
// agent's, in which there may be a colon.
func (r *rule) uses(tool string, colon bool, d *deed) bool {
	if d.bit == 0 && r.tools.match(d.tool) || d.bit != 0 && r.common&d.bit != 0 {
		return true
	}
	return (colon || !r.colon) && r.tools.match(tool)
}

// needColon says whether no pattern matches a text without a colon.
func needColon(patterns globs) bool {
	for i := range patterns {
		if !strings.Contains(patterns[i].text, ":") {
			return false
		}
	}
	return len(patterns) > 0
}

func (r *rule) command(d *deed, allows bool) bool {
	if len(d.words) == 0 || allows && d.tainted {
		return false
	}
	for i := range r.commands {
		if r.commands[i].match(d.words, !allows) {
			return true
		}
	}
	return false
}

// verdict is the rule's decision about a deed.
func (r *rule) verdict(d *deed) Decision {
	v := r.decision
	if d.hazard != "" {
		v.Message = cmp.Or(v.Message, d.hazard)
		if !r.destructive {
			v.Level = Critical
		}
	}
	return v
}

// fallback is for deeds no rule is about.
func fallback(d *deed) Decision {
	v := Decision{Action: Confirm, Level: Warn, Message: "No rule is about this", Rule: "default/none", BuiltIn: true}
	if d.hazard != "" {
		v.Level, v.Message = Critical, d.hazard
	}
	return v
}

// defaultLevel is a rule's level when it names none.
func defaultLevel(action Action, destructive bool) Level {
	switch {
	case destructive && action != Allow:
		return Critical
	case action == Deny:
		return Warn
	default:
		return Info
	}
}

// maxTimeout bounds what a rule may name.
const maxTimeout = 7 * 24 * time.Hour
