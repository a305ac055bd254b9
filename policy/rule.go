package policy

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// rule is one compiled rule.
type rule struct {
	name     string
	tools    globs
	common   uint32 // bits of the common tools that the list "tools" matches
	colon    bool   // the list "tools" matches only names with a colon
	agents   globs
	projects globs
	hosts    globs
	commands []commandGlob
	paths    pathGlobs
	where    where
	args     []argumentGlob

	destructive bool // covers only destructive operations
	decision    Decision
}

type where int

const (
	anywhere where = iota
	inside
	outside
)

// commandGlob matches the words of a command. A final * matches any number of
// words.
type commandGlob struct {
	words   globs
	more    bool   // the pattern ends in *
	first   string // the first word, if it has no wildcard
	literal int    // the number of words at the beginning that have no wildcard
}

func newCommandGlob(pattern string) commandGlob {
	g := commandGlob{words: newGlobs(strings.Fields(pattern))}
	if n := len(g.words) - 1; n >= 0 && g.words[n].text == "*" {
		g.words, g.more = g.words[:n], true
	}
	for g.literal < len(g.words) && !g.words[g.literal].wild {
		g.literal++
	}
	if g.literal > 0 {
		g.first = g.words[0].text
	}
	return g
}

// isExact reports whether the pattern matches one list of words only.
func (g *commandGlob) isExact() bool { return !g.more && g.literal == len(g.words) }

// permits reports whether an allowing rule with the pattern covers a command. A command
// that is not understood is covered only by a pattern without wildcards, in the workspace's
// directory and without piped input. A program that runs other code is covered only if the
// pattern names it and its subcommand.
func (g *commandGlob) permits(c *invocation) bool {
	if c.danger != "" && !c.atTop { // the author of the rule meant paths relative to the workspace
		return false
	}
	if g.isExact() && g.match(c.words, false) {
		return c.doubt == "" || c.atTop && !c.isPiped
	}
	if c.doubt != "" {
		return false
	}
	if c.mustBeNamed && g.literal < c.reading.depth() {
		return false
	}
	return g.match(c.words, false) || c.plain != nil && g.match(c.plain, false)
}

// concerns reports whether a denying or confirming rule with the pattern covers a
// command, however its options are placed.
func (g *commandGlob) concerns(c *invocation) bool {
	if g.match(c.words, true) {
		return true
	}
	if g.first != "" && !strings.HasSuffix(c.words[0], g.first) {
		return false
	}
	return slices.ContainsFunc(c.forms(), func(words []string) bool { return g.match(words, true) })
}

// match compares the words of a command. If loose is set, the last element of the
// program's path may match too.
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
	name     string
	patterns globs
}

// applies reports whether the rule covers this agent and project.
func (r *rule) applies(c *Call) bool {
	return r.agents.match(c.Agent) && r.projects.match(c.Project)
}

// match reports whether the rule's patterns match an operation of a call. A rule
// that allows or confirms covers destructive operations only with "destructive"; a
// rule that denies always covers them.
func (r *rule) match(c *Call, in *input, op *operation) bool {
	if !r.uses(c.Tool, in.colon, op) {
		return false
	}
	denies, allows := r.decision.Action == Deny, r.decision.Action == Allow
	isDestructive := op.danger != "" || len(r.commands) > 0 && op.cause != nil && op.cause.danger != ""
	switch {
	case r.destructive && !isDestructive, !r.destructive && !denies && op.danger != "":
		return false
	case allows && !r.mayAllow(op):
		return false
	}
	if len(r.commands) > 0 && !r.matchesCommand(op, allows) {
		return false
	}
	if r.where != anywhere && (op.place == nil || op.place.inside() != (r.where == inside)) {
		return false
	}
	if len(r.paths) > 0 && (op.place == nil || !r.paths.match(op.place, allows)) {
		return false
	}
	if len(r.hosts) > 0 && (op.host == "" || !r.hosts.match(op.host)) {
		return false
	}
	for _, a := range r.args {
		text, ok := in.argument(a.name)
		if !ok || !a.patterns.match(text) {
			return false
		}
	}
	return true
}

// uses reports whether the rule covers an operation's tool, by its common name or
// by the agent's name. colon is whether the agent's name contains a colon.
func (r *rule) uses(tool string, colon bool, op *operation) bool {
	if op.bit == 0 && r.tools.match(op.tool) || op.bit != 0 && r.common&op.bit != 0 {
		return true
	}
	// The tool's own name does not describe the operations that follow from the call.
	if r.decision.Action == Allow && !op.isMain {
		return false
	}
	return (colon || !r.colon) && r.tools.match(tool)
}

// requiresColon reports whether every text that the patterns match contains a colon.
func requiresColon(patterns globs) bool {
	for i := range patterns {
		if !strings.Contains(patterns[i].text, ":") {
			return false
		}
	}
	return len(patterns) > 0
}

// mayAllow reports whether an allowing rule may cover an operation at all. An
// operation that is not understood needs a pattern that names exactly this command
// or file.
func (r *rule) mayAllow(op *operation) bool {
	switch {
	case op.words != nil:
		return len(r.commands) > 0 || op.doubt == "" && !op.tainted && (op.cause == nil || !op.cause.mustBeNamed)
	case op.doubt != "":
		return op.place != nil && r.paths.isExact(op.place)
	case op.cause != nil && len(r.commands) > 0: // a file of a command whose words the rule names
		return op.place == nil || op.place.inside() || slices.ContainsFunc(r.commands, func(g commandGlob) bool {
			return g.isExact() && g.match(op.cause.words, false)
		})
	}
	return true
}

func (r *rule) matchesCommand(op *operation, allows bool) bool {
	if op.cause == nil || len(op.cause.words) == 0 || allows && op.tainted {
		return false
	}
	for i := range r.commands {
		if g := &r.commands[i]; allows && g.permits(op.cause) || !allows && g.concerns(op.cause) {
			return true
		}
	}
	return false
}

// decide returns the rule's decision about an operation that it matches.
func (r *rule) decide(op *operation) Decision {
	d := r.decision
	if op.danger != "" {
		d.Message = cmp.Or(d.Message, op.danger)
		if !r.destructive {
			d.Level = Critical
		}
	}
	if op.runs != "" && d.Action == Confirm {
		d.Message = cmp.Or(d.Message, op.runs)
		if d.BuiltIn {
			d.Level = d.Level.Max(Warn)
		}
	}
	switch {
	case op.says == "" || d.Action == Allow:
	case op.place.known():
		d.Message = strings.TrimSuffix(op.says+". "+d.Message, ". ")
	default:
		d.Message = op.says
	}
	if op.doubt != "" && d.Action == Confirm {
		d.Message, d.Level = cmp.Or(d.Message, op.doubt), Critical
	}
	return d
}

// fallback returns the decision about an operation that no rule matches.
func fallback(op *operation) Decision {
	d := Decision{Action: Confirm, Level: Warn, Message: "No rule is about this", Rule: "default/none", BuiltIn: true}
	if why := cmp.Or(op.danger, op.doubt); why != "" {
		d.Level, d.Message = Critical, why
	}
	return d
}

// defaultLevel returns the level of a rule that names none.
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

// maxTimeout is the longest timeout that a rule may set.
const maxTimeout = 7 * 24 * time.Hour
