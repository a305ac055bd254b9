package protocol

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// HostOffer is what tasks on an agent host can choose from: the response to GET /offer of a
// host. It has no secret and no path of the machine.
type HostOffer struct {
	DefaultAgent    string           `json:"defaultAgent"`    // of tasks that name none
	Agents          []OfferedAgent   `json:"agents"`          // by id
	Projects        []OfferedProject `json:"projects"`        // by name
	PermissionModes []PermissionMode `json:"permissionModes"` // from the strictest to the mildest
	// Notices are what the host says to every user at present, such as that its policy file is wrong.
	Notices []HostNotice `json:"notices,omitempty"`
	// Sandbox is what the host's agents are kept from; absent when the host does not say.
	Sandbox *OfferedSandbox `json:"sandbox,omitempty"`
	// Version is the one of the host's program; absent when the host does not say.
	Version string `json:"version,omitempty"`
}

// MaxHostVersion limits the bytes of a host's version.
const MaxHostVersion = 100

// HostVersion returns a version that a host has sent, or "" for one that could not be shown on a line.
func HostVersion(version string) string {
	if len(version) > MaxHostVersion || strings.ContainsFunc(version, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return ""
	}
	return version
}

// SandboxState is how much of a machine the sandbox of a host keeps from agents.
type SandboxState string

// States of a sandbox.
const (
	SandboxFull    SandboxState = "full"    // every escape that the host tried at its start failed
	SandboxPartial SandboxState = "partial" // the essential ones failed, others succeeded
	SandboxNone    SandboxState = "none"    // agents can use what the host's user can
)

// SandboxStates lists every state.
func SandboxStates() []SandboxState { return []SandboxState{SandboxFull, SandboxPartial, SandboxNone} }

// OfferedSandbox is the level of a host's sandbox, as measured at its start. Its texts are fixed words: reasons,
// which may have paths of the machine, are in the host's /status alone.
type OfferedSandbox struct {
	State      SandboxState `json:"state"`
	Landlock   int          `json:"landlock"`   // version of the kernel's interface; 0 without it
	Namespaces bool         `json:"namespaces"` // files, processes and shared memory of its own
	Network    string       `json:"network"`    // of sessions that name no other: open, proxy or none
	OwnUser    bool         `json:"ownUser"`    // programs have another user id than the host
	Limits     []string     `json:"limits"`     // of each session: memory, pids, cpu
	Open       []string     `json:"open"`       // what programs can do all the same
}

// Limits of an OfferedSandbox. A broker leaves out one that exceeds them.
const (
	MaxSandboxEntries = 32  // of limits, and of open
	MaxSandboxText    = 100 // bytes of an entry
)

// Check returns CodeInvalid if a level could not be one of a host.
func (s *OfferedSandbox) Check() error {
	if !slices.Contains(SandboxStates(), s.State) {
		return Errorf(CodeInvalid, "sandbox.state is not one of a host")
	}
	texts := slices.Concat([]string{s.Network}, s.Limits, s.Open)
	long := func(text string) bool {
		return len(text) > MaxSandboxText || strings.ContainsFunc(text, unicode.IsControl)
	}
	if len(s.Limits) > MaxSandboxEntries || len(s.Open) > MaxSandboxEntries || slices.ContainsFunc(texts, long) {
		return Errorf(CodeInvalid, "sandbox is larger than one of a host")
	}
	return nil
}

// HostNotice is a notice of an agent host itself. Its limits are those of an announcement.
type HostNotice struct {
	ID    string            `json:"id"`
	Level AnnouncementLevel `json:"level"`
	Text  string            `json:"text"`
}

// OfferedAgent is an agent of a host, also one whose program is missing there.
type OfferedAgent struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	Kind      string `json:"kind"`
	Installed bool   `json:"installed"`         // its program was found
	Version   string `json:"version,omitempty"` // of the program, if that is known
	// HasKey: the host has a key of the agent's language model; absent when the host cannot know.
	HasKey *bool `json:"hasKey,omitempty"`
	// Keys are the variables of the host's environment that can hold the key, each also with the suffix _FILE.
	Keys []string `json:"keys,omitempty"`
	// Program is what the host lets administrators of the broker install for the agent; absent if it does not.
	Program string `json:"program,omitempty"`
	// Scripted: it follows a script, and no language model answers.
	Scripted bool `json:"scripted,omitempty"`

	// DefaultModel is the one of tasks that name none; absent when the agent chooses.
	DefaultModel string `json:"defaultModel,omitempty"`
	// Models are those that the agent reported in its last session; empty when it reports none.
	Models []Choice `json:"models"`
	Modes  []Choice `json:"modes"` // as models: the agent's own modes of work
	// Attachments are the kinds of files that the agent takes; absent when the host cannot know.
	Attachments []AttachmentKind `json:"attachments,omitempty"`
	Problem     string           `json:"problem,omitempty"` // why it cannot run
	Hint        string           `json:"hint,omitempty"`    // what the operator can do about it
}

// Choice is a model or a mode of an agent.
type Choice struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// OfferedProject is a project of a host.
type OfferedProject struct {
	Name string `json:"name"`
	// IsRepository: it is a git repository. Sessions work in clones of their own, unless it is shared.
	IsRepository  bool     `json:"isRepository"`
	DefaultBranch string   `json:"defaultBranch,omitempty"` // where new clones start
	Branches      []string `json:"branches"`                // the latest commit first, at most MaxOfferedBranches
	// Shared: sessions work in the project's own directory, and start from no branch.
	Shared  bool   `json:"shared,omitempty"`
	Problem string `json:"problem,omitempty"` // why it cannot be read
}

// MaxOfferedBranches limits the branches of an OfferedProject.
const MaxOfferedBranches = 200

// OfferList is the response to GET /api/agents: what the registered hosts offer.
type OfferList struct {
	Agents []OfferedChoice `json:"agents"` // installed on at least one host, by id
	Hosts  []OfferingHost  `json:"hosts"`  // by name
	// DefaultAgent is the one of tasks that name none; absent when each host's own default is.
	DefaultAgent string `json:"defaultAgent,omitempty"`
}

// OfferedChoice is an agent that a task can name.
type OfferedChoice struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	HostIDs []string `json:"hostIds"` // hosts where it is installed
}

// OfferingHost is a registered host with its last offer.
type OfferingHost struct {
	HostID    string     `json:"hostId"`
	Name      string     `json:"name"`
	Online    bool       `json:"online"`              // it answered when the broker asked last
	OfferedAt *time.Time `json:"offeredAt,omitempty"` // when it made the offer; absent without one
	Offer     *HostOffer `json:"offer,omitempty"`     // of an offline host the last one; absent when none is known
	Problem   string     `json:"problem,omitempty"`   // why the broker has no current offer
}
