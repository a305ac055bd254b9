package protocol

import "slices"

// PermissionMode is how much of a session's work a person wants to be asked about. The
// rules of the host's policy file hold in every mode, and CRITICAL calls are always asked.
type PermissionMode string

// Modes of a session, from the strictest to the mildest.
const (
	ModePlan        PermissionMode = "plan"         // calls that change something are denied
	ModeAsk         PermissionMode = "ask"          // the rules as they are; also ""
	ModeAcceptEdits PermissionMode = "accept-edits" // files of the workspace are written without asking
	ModeAuto        PermissionMode = "auto"         // only CRITICAL calls are asked
)

// PermissionModes returns the modes, from the strictest to the mildest.
func PermissionModes() []PermissionMode {
	return []PermissionMode{ModePlan, ModeAsk, ModeAcceptEdits, ModeAuto}
}

// Check returns CodeInvalid for a mode that is neither "" nor one of PermissionModes.
func (m PermissionMode) Check() error {
	if m == "" || slices.Contains(PermissionModes(), m) {
		return nil
	}
	return &Error{
		Code: CodeInvalid, Message: "permissionMode must be plan, ask, accept-edits or auto",
		Hint: "Leave it out to keep the session's mode, which is ask at first",
	}
}
