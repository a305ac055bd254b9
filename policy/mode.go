package policy

import (
	"cmp"
	"slices"
	"strings"
)

// Mode is how much of a session's work a person wants to be asked about. It changes
// decisions of the built-in rules only: what the rules of a policy file say, and what
// is CRITICAL, holds in every mode.
type Mode string

// Modes of a session.
const (
	ModePlan        Mode = "plan"         // nothing may change: what does is denied
	ModeAsk         Mode = "ask"          // the rules as they are; also ""
	ModeAcceptEdits Mode = "accept-edits" // files of the workspace are written without asking
	ModeAuto        Mode = "auto"         // only what is CRITICAL is asked
)

// Modes returns the modes, from the strictest to the mildest.
func Modes() []Mode { return []Mode{ModePlan, ModeAsk, ModeAcceptEdits, ModeAuto} }

// IsKnown reports whether the mode is one of Modes.
func (m Mode) IsKnown() bool { return slices.Contains(Modes(), m) }

// ruleOfMode begins the names of the decisions that a mode makes.
const ruleOfMode = "mode/"

const planOnly = "The session is in plan mode, in which nothing is changed. Describe what you would do"

// IsRoutine reports whether a built-in rule, and no mode, allowed the call.
func (d Decision) IsRoutine() bool {
	return d.Action == Allow && d.BuiltIn && !strings.HasPrefix(d.Rule, ruleOfMode)
}

// adjust returns the decision about an operation in the mode.
func (m Mode) adjust(op *operation, d Decision) Decision {
	switch {
	case d.Action == Deny:
		return d
	case m == ModePlan && !op.isPlanning(d.Action):
		return Decision{Action: Deny, Level: Warn.Max(d.Level), Message: planOnly, Rule: ruleOfMode + string(m), BuiltIn: true}
	case d.Action != Confirm || !d.BuiltIn || d.Level == Critical:
		return d
	case m == ModeAuto,
		m == ModeAcceptEdits && op.tool == FileWrite && d.Level == Info && op.place != nil && op.place.inside():
		return Decision{Action: Allow, Level: d.Level, Rule: ruleOfMode + string(m), BuiltIn: true}
	}
	return d
}

// isPlanning reports whether an operation changes nothing, as far as that is known. Of a
// command every word must be understood. A tool whose effect is not known may run if
// a rule allows it.
func (op *operation) isPlanning(action Action) bool {
	switch {
	case isUnknownTool(op.tool):
		return action == Allow
	case op.words != nil:
		return cmp.Or(op.doubt, op.danger) == "" && !op.tainted && (op.cause == nil || op.cause.changesNothing())
	}
	return !slices.Contains([]string{FileWrite, FileDelete, NetConnect}, op.tool)
}

// changesNothing reports whether a command only reads, apart from the files that are
// operations of their own.
func (c *invocation) changesNothing() bool {
	return c.reading != nil && !c.isNamed && !c.reading.program.moves
}

// hostTools begins the names of the host's own tools.
const hostTools = "mcp:bellhop/"

// hostDanger returns why a call of the host's own tools is destructive, or "".
func hostDanger(tool string, in *input) string {
	if tool != hostTools+"workspace_delete" {
		return ""
	}
	force, _ := in.argument("force")
	if _, ok := in.argument("path"); !ok { // some agents do not report the arguments
		force = "not known"
	}
	return when(!slices.Contains([]string{"", "false", "null"}, force), "May throw away work of a workspace that is not committed or not pushed")
}
