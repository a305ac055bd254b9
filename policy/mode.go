package policy

import (
	"cmp"
	"slices"
	"strings"

	"bellhop/protocol"
)

// ruleOfMode begins the names of the decisions that a mode makes.
const ruleOfMode = "mode/"

const planOnly = "The session is in plan mode, in which nothing is changed. Describe what you would do"

// IsRoutine reports whether a built-in rule, and no mode, allowed the call.
func (d Decision) IsRoutine() bool {
	return d.Action == Allow && d.BuiltIn && !strings.HasPrefix(d.Rule, ruleOfMode)
}

// adjust returns the decision about an operation in a mode of the session. A mode
// changes decisions of the built-in rules only, and never a CRITICAL one.
func adjust(m protocol.PermissionMode, op *operation, d Decision) Decision {
	switch {
	case d.Action == Deny:
		return d
	case m == protocol.ModePlan && !op.isPlanning(d.Action):
		return byMode(m, Deny, Warn.Max(d.Level), planOnly)
	case d.Action != Confirm || !d.BuiltIn || d.Level == Critical:
		return d
	case m == protocol.ModeAuto,
		m == protocol.ModeAcceptEdits && op.tool == FileWrite && d.Level == Info && op.place != nil && op.place.inside():
		return byMode(m, Allow, d.Level, "")
	}
	return d
}

func byMode(m protocol.PermissionMode, action Action, level Level, message string) Decision {
	return Decision{Action: action, Level: level, Message: message, Rule: ruleOfMode + string(m), BuiltIn: true}
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
	const why = "May throw away work of a workspace that is not committed or not pushed"
	return when(!slices.Contains([]string{"", "false", "null"}, force), why)
}
