package policy

import (
	"encoding/json"
	"slices"
	"time"
)

// Action is what happens to a call.
type Action string

// Actions, from the mildest to the strictest.
const (
	Allow   Action = "allow"   // without asking
	Confirm Action = "confirm" // a person is asked
	Deny    Action = "deny"    // without asking
)

// Level says how closely a person should look.
type Level string

// Levels, from the mildest to the strictest. What is Critical is asked every
// time, whatever was allowed for the session.
const (
	Info     Level = "INFO"
	Warn     Level = "WARN"
	Critical Level = "CRITICAL"
)

var (
	actions = []Action{Allow, Confirm, Deny}
	levels  = []Level{Info, Warn, Critical}
)

// Max is the stricter level; an unknown one is the mildest.
func (l Level) Max(other Level) Level {
	if slices.Index(levels, other) > slices.Index(levels, l) {
		return other
	}
	return l
}

// Call is a tool call to decide about.
type Call struct {
	Agent   string          // the agent's id
	Project string          // "" is none
	Dir     string          // the workspace, absolute
	Tool    string          // as the agent calls it
	Input   json.RawMessage // the call's arguments
}

// Decision is the outcome of the rules for a call. Timeout is 0 when the rule names
// none; a question without an answer in time is denied.
type Decision struct {
	Action  Action        `json:"action"`
	Level   Level         `json:"level"`
	Message string        `json:"message,omitempty"`
	Rule    string        `json:"rule"` // its name; built-in ones begin with "default/"
	Timeout time.Duration `json:"-"`
	BuiltIn bool          `json:"builtIn"` // not a rule of the operator's
}

// Step is one operation of a call and the decision about it.
type Step struct {
	Tool    string `json:"tool"`    // common name
	Subject string `json:"subject"` // the command, path or address
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
