package protocol

import "time"

// Installation is the last installation of an agent's program on a host.
type Installation struct {
	ID      string            `json:"id"`
	Program string            `json:"program"` // as OfferedAgent.Program
	Title   string            `json:"title"`   // of the program
	Version string            `json:"version"` // the one that the host was tested with
	State   InstallationState `json:"state"`
	Step    InstallationStep  `json:"step,omitempty"` // of a running one
	// Done and Total are bytes while downloading; Total is 0 if it is unknown.
	Done      int64      `json:"done"`
	Total     int64      `json:"total"`
	StartedAt time.Time  `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt,omitempty"` // absent while it runs
	Lines     []string   `json:"lines"`             // the last ones that it printed
	Error     string     `json:"error,omitempty"`   // why it failed
	Code      Code       `json:"code,omitempty"`    // of the error
	Hint      string     `json:"hint,omitempty"`    // what the operator can do about it
}

// InstallationState is how far an installation is.
type InstallationState string

// States of an installation.
const (
	InstallationRunning   InstallationState = "running"
	InstallationInstalled InstallationState = "installed"
	InstallationPresent   InstallationState = "present" // the version was installed before, nothing was changed
	InstallationFailed    InstallationState = "failed"
	InstallationCancelled InstallationState = "cancelled"
)

// InstallationStep is what an installation does at present.
type InstallationStep string

// Steps of an installation. It has either InstallationNPM or the two steps before it.
const (
	InstallationWait     InstallationStep = "wait" // for another process that installs the program
	InstallationDownload InstallationStep = "download"
	InstallationUnpack   InstallationStep = "unpack"
	InstallationNPM      InstallationStep = "npm"
	InstallationCheck    InstallationStep = "check"
)

// InstallationList is the response to GET /installations of a host and to GET /api/hosts/:id/installations of a broker.
type InstallationList struct {
	Allowed       bool           `json:"allowed"` // the host lets administrators of brokers install programs
	Installations []Installation `json:"installations"`
}

// InstallRequest has a host install the program of an agent.
type InstallRequest struct {
	Program string `json:"program"` // as OfferedAgent.Program
}

// Limits of an installation. A broker cuts what exceeds them.
const (
	MaxInstallations     = 32  // of a host
	MaxInstallationLines = 12  // of an installation
	MaxInstallationText  = 500 // bytes of a line, an error or a hint
)
