package policy

import (
	"encoding/json"
	"slices"
	"time"

	"bellhop/protocol"
)

// Action is the result of the rules for a call.
type Action string

// Actions, from the mildest to the strictest.
const (
	Allow   Action = "allow"   // without asking
	Confirm Action = "confirm" // a person is asked
	Deny    Action = "deny"    // without asking
)

// Level is how carefully a person should check a call.
type Level string

// Levels, from the mildest to the strictest. A Critical operation is asked about
// every time, even if the user allowed it for the session.
const (
	Info     Level = "INFO"
	Warn     Level = "WARN"
	Critical Level = "CRITICAL"
)

var (
	actions = []Action{Allow, Confirm, Deny}
	levels  = []Level{Info, Warn, Critical}
)

// Max returns the stricter level; an unknown one counts as the mildest.
func (l Level) Max(other Level) Level {
	if slices.Index(levels, other) > slices.Index(levels, l) {
		return other
	}
	return l
}

// Call is a tool call that needs a decision.
type Call struct {
	Agent   string // the agent's id
	Project string // "" means none
	Dir     string // the workspace, absolute

	Mode  protocol.PermissionMode // of the session; "" is protocol.ModeAsk
	Tool  string                  // the agent's own name of the tool
	Input json.RawMessage         // the call's arguments

	// Files calls each with the path of every file of the workspace, below Dir, and whether git ignores it. It is called
	// at most once, and only for a call that reads whole directories, or reaches the network and reads files whose names
	// are not known. Nil: such a call is judged by its arguments alone.
	Files func(each func(path string, isIgnored bool)) error
}

// Decision is the result of the rules for a call. Timeout is 0 when the rule names
// none. A question that is not answered in time counts as denied.
type Decision struct {
	Action  Action        `json:"action"`
	Level   Level         `json:"level"`
	Message string        `json:"message,omitempty"`
	Rule    string        `json:"rule"` // the rule's name; names of built-in rules begin with "default/"
	Timeout time.Duration `json:"-"`
	BuiltIn bool          `json:"builtIn"` // the rule is not the operator's

	// Shape is what a yes "for this session" covers: later calls of the same shape.
	// It is "" when only this one call may be allowed.
	Shape string `json:"shape,omitempty"`
}

// Step is one operation of a call, with its decision.
type Step struct {
	Tool    string `json:"tool"`    // common name
	Subject string `json:"subject"` // the command, path or network address
	Danger  string `json:"hazard,omitempty"`
	Decision
}

// stricter reports whether d is stricter, by action, then by level.
func (d Decision) stricter(than Decision) bool {
	a, b := slices.Index(actions, d.Action), slices.Index(actions, than.Action)
	if a != b {
		return a > b
	}
	return slices.Index(levels, d.Level) > slices.Index(levels, than.Level)
}
