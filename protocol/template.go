package protocol

import "time"

// Sizes of task templates. Texts are counted in characters.
const (
	// MaxTemplates is how many templates a user may have, and how many may be for all users.
	MaxTemplates = 100
	// MaxTemplateName limits the name of a template.
	MaxTemplateName = 100
	// MaxTemplatePrompt limits the prompt of a template, and the prompt that its variables make, in bytes.
	MaxTemplatePrompt = 64 << 10
	// MaxTemplateVariables is how many variables a template may have.
	MaxTemplateVariables = 20
	// MaxTemplateChoices is how many choices a variable may have.
	MaxTemplateChoices = 50
	// MaxTemplateValue limits a default and a choice of a variable.
	MaxTemplateValue = 2000
)

// TemplateVariable is what a template asks for. The prompt has {{name}} in its place.
type TemplateVariable struct {
	Name     string   `json:"name"` // a letter, then letters, digits and _; at most 40
	Default  string   `json:"default,omitempty"`
	Required bool     `json:"required,omitempty"` // an empty value is refused
	Choices  []string `json:"choices,omitempty"`  // other values are refused
}

// Template is a task template, also as the body of POST /api/templates and PUT /api/templates/:id. There ID and times
// are ignored: the broker sets them.
type Template struct {
	ID        string             `json:"id"`
	Name      string             `json:"name"`
	Prompt    string             `json:"prompt"`
	Variables []TemplateVariable `json:"variables,omitempty"`
	// ForAll: every user sees it. Only administrators may set it, and it never changes.
	ForAll bool `json:"forAll,omitempty"`

	// Where and how its tasks run, as in CreateTaskRequest; "" leaves it to the user who starts one.
	Agent          string         `json:"agent,omitempty"`
	Model          string         `json:"model,omitempty"`
	Project        string         `json:"project,omitempty"`
	HostID         string         `json:"hostId,omitempty"`
	Branch         string         `json:"branch,omitempty"`
	PermissionMode PermissionMode `json:"permissionMode,omitempty"`

	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// TemplateList has the templates that a user sees, by name: their own, and those for all users.
type TemplateList struct {
	Templates []Template `json:"templates"`
}

// FillTemplateRequest is the body of POST /api/templates/:id/fill.
type FillTemplateRequest struct {
	Values map[string]string `json:"values"`
}

// FilledTemplate is the answer: the prompt with its values, and where and how the task runs. What the template names
// and no host offers any more is in Gone, and left out of Task.
type FilledTemplate struct {
	Prompt string            `json:"prompt"`
	Task   CreateTaskRequest `json:"task"`
	Gone   []TemplateGone    `json:"gone"`
}

// TemplateGone is a member of a template whose value no host offers.
type TemplateGone struct {
	Member string `json:"member"` // agent, model, project or hostId
	Value  string `json:"value"`
}
