package policy

import (
	"cmp"
	"slices"
	"strings"

	"bellhop/protocol"
)

// modeRulePrefix begins the rule name of a decision that a mode made.
const modeRulePrefix = "mode/"

const planOnly = "The session is in plan mode, in which nothing is changed. Describe what you would do"

// IsRoutine reports whether a built-in rule, and no mode, allowed the call.
func (d Decision) IsRoutine() bool {
	return d.Action == Allow && d.BuiltIn && !strings.HasPrefix(d.Rule, modeRulePrefix)
}

// adjust returns the decision about an operation in a mode of the session. A mode
// changes decisions of the built-in rules only, and never a CRITICAL one.
func adjust(m protocol.PermissionMode, op *operation, d Decision) Decision {
	switch {
	case d.Action == Deny:
		return d
	case m == protocol.ModePlan && !op.isReadOnly(d.Action):
		return byMode(m, Deny, Warn.Max(d.Level), planOnly)
	case d.Action != Confirm || !d.BuiltIn || d.Level == Critical || op.runs != "" || op.mayWriteOutside() || op.namesNoFile():
		return d
	case m == protocol.ModeAuto,
		m == protocol.ModeAcceptEdits && op.tool == FileWrite && d.Level == Info && op.place != nil && op.place.inside():
		return byMode(m, Allow, d.Level, "")
	}
	return d
}

// mayWriteOutside reports whether an operation may write a file that is not in the workspace: no mode allows it. Tools of
// unknown effect may write each file that they name.
func (op *operation) mayWriteOutside() bool {
	writes := op.tool == FileWrite || isUnknownTool(op.tool) && !strings.HasPrefix(op.tool, hostToolPrefix)
	return writes && op.place != nil && !op.place.inside()
}

// namesNoFile reports whether an operation is that of a file tool whose call says only in words which file it means: no
// mode allows it.
func (op *operation) namesNoFile() bool {
	return op.isMain && op.cause == nil && op.says == "" && op.place != nil && op.place.text == unknown
}

func byMode(m protocol.PermissionMode, action Action, level Level, message string) Decision {
	return Decision{Action: action, Level: level, Message: message, Rule: modeRulePrefix + string(m), BuiltIn: true}
}

// isReadOnly reports whether an operation changes nothing, as far as that is known. For a
// command, each of its words must be understood. A tool whose effect is not known counts
// as read-only if action is Allow.
func (op *operation) isReadOnly(action Action) bool {
	switch {
	case isUnknownTool(op.tool):
		return action == Allow
	case op.words != nil:
		return cmp.Or(op.doubt, op.danger) == "" && !op.tainted && (op.cause == nil || op.cause.isReadOnly())
	}
	return !slices.Contains([]string{FileWrite, FileDelete, NetConnect}, op.tool)
}

// isReadOnly reports whether a command only reads. Files that the command writes are
// operations of their own and do not count here.
func (c *invocation) isReadOnly() bool {
	return c.reading != nil && !c.mustBeNamed && !c.reading.program.moves
}

// hostToolPrefix is the prefix of the names of the host's own tools.
const hostToolPrefix = "mcp:bellhop/"

// hostDanger returns why a call of the host's own tools is destructive, or "".
func hostDanger(tool string, in *input) string {
	if tool != hostToolPrefix+"workspace_delete" {
		return ""
	}
	force, _ := in.argument("force")
	if _, ok := in.argument("path"); !ok { // the agent reported no arguments, so force may be set
		force = "not known"
	}
	const why = "May throw away work of a workspace that is not committed or not pushed"
	return when(!slices.Contains([]string{"", "false", "null"}, force), why)
}
