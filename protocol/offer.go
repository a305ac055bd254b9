package protocol

import "time"

// HostOffer is what tasks on an agent host can choose from: the response to GET /offer of a
// host. It has no secret and no path of the machine.
type HostOffer struct {
	DefaultAgent    string           `json:"defaultAgent"`    // of tasks that name none
	Agents          []OfferedAgent   `json:"agents"`          // by id
	Projects        []OfferedProject `json:"projects"`        // by name
	PermissionModes []PermissionMode `json:"permissionModes"` // from the strictest to the mildest
	// Notices are what the host says to every user at present, such as that its policy file is wrong.
	Notices []HostNotice `json:"notices,omitempty"`
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
	HasKey       *bool  `json:"hasKey,omitempty"`
	DefaultModel string `json:"defaultModel,omitempty"` // of tasks that name none; absent when the agent chooses
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
