package broker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"bellhop/internal/lazyregexp"
	"bellhop/protocol"
)

// Templates are prompts with variables, and where and how their tasks run. A user has their own, and sees those
// that administrators made for all users.
type Templates struct {
	Store  TemplateStore
	Offers *Offers // of hosts; nil: nothing counts as gone
	Now    func() time.Time
}

// Template is a stored template.
type Template struct {
	protocol.Template

	OwnerID string // "" = for all users
}

// TemplateStore stores templates.
type TemplateStore interface {
	// Write runs fn in a transaction.
	Write(ctx context.Context, fn func(ctx context.Context) error) error
	// Templates returns the templates of an owner, and those for all users if withShared is set, by name.
	Templates(ctx context.Context, ownerID string, withShared bool) ([]Template, error)
	// CreateTemplate returns CodeConflict when the owner has one of the same name.
	CreateTemplate(ctx context.Context, t *Template) error
	// UpdateTemplate keeps owner and time of creation; CodeConflict as above.
	UpdateTemplate(ctx context.Context, t *Template) error
	DeleteTemplate(ctx context.Context, id string) error
}

// List returns the templates that a user sees, by name; their own come before those for all users.
func (s *Templates) List(ctx context.Context, userID string) (*protocol.TemplateList, error) {
	found, err := s.Store.Templates(ctx, userID, true)
	if err != nil {
		return nil, err
	}
	list := &protocol.TemplateList{Templates: make([]protocol.Template, len(found))}
	for i := range found {
		list.Templates[i] = *found[i].View()
	}
	return list, nil
}

// View returns the template as users see it.
func (t *Template) View() *protocol.Template {
	view := t.Template
	view.ForAll = t.OwnerID == ""
	view.CreatedAt, view.UpdatedAt = view.CreatedAt.UTC(), view.UpdatedAt.UTC()
	return &view
}

// Create makes a template. CodeForbidden: only administrators make one for all users; CodeConflict: the name is
// taken, or there are too many.
func (s *Templates) Create(ctx context.Context, caller Caller, in *protocol.Template) (*protocol.Template, error) {
	made := &Template{OwnerID: caller.UserID}
	if in.ForAll {
		made.OwnerID = ""
	}
	if err := s.fill(made, caller, in); err != nil {
		return nil, err
	}
	made.ID, made.CreatedAt = protocol.NewID(), made.UpdatedAt
	err := s.Store.Write(ctx, func(ctx context.Context) error {
		existing, err := s.Store.Templates(ctx, made.OwnerID, false)
		if err != nil {
			return err
		}
		if len(existing) >= protocol.MaxTemplates {
			return &protocol.Error{
				Code: protocol.CodeConflict, Message: "There are as many templates as there can be", Hint: "Delete one first",
			}
		}
		return s.Store.CreateTemplate(ctx, made)
	})
	if err != nil {
		return nil, named(err, made.Name)
	}
	return made.View(), nil
}

// Update replaces what users write of a template.
func (s *Templates) Update(
	ctx context.Context, caller Caller, id string, in *protocol.Template,
) (*protocol.Template, error) {
	changed, err := s.find(ctx, caller.UserID, id)
	if err != nil {
		return nil, err
	}
	if in.ForAll != (changed.OwnerID == "") {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "forAll cannot be changed", Hint: "Create another template",
		}
	}
	if err := s.fill(changed, caller, in); err != nil {
		return nil, err
	}
	if err := s.Store.UpdateTemplate(ctx, changed); err != nil {
		return nil, named(err, changed.Name)
	}
	return changed.View(), nil
}

// Delete removes a template. Tasks that were made from it stay.
func (s *Templates) Delete(ctx context.Context, caller Caller, id string) error {
	found, err := s.find(ctx, caller.UserID, id)
	if err != nil {
		return err
	}
	if err := mayWrite(caller, found); err != nil {
		return err
	}
	return s.Store.DeleteTemplate(ctx, id)
}

// find returns a template that a user sees.
func (s *Templates) find(ctx context.Context, userID, id string) (*Template, error) {
	all, err := s.Store.Templates(ctx, userID, true)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].ID == id {
			return &all[i], nil
		}
	}
	return nil, protocol.Errorf(protocol.CodeNotFound, "Template not found")
}

func mayWrite(caller Caller, t *Template) error {
	if t.OwnerID == "" && !caller.Admin {
		return protocol.Errorf(protocol.CodeForbidden, "Only administrators change templates for all users")
	}
	return nil
}

// fill checks what a user wrote of a template, and writes it into t.
func (s *Templates) fill(t *Template, caller Caller, in *protocol.Template) error {
	if err := mayWrite(caller, t); err != nil {
		return err
	}
	id, created := t.ID, t.CreatedAt
	t.Template = *in
	t.ID, t.CreatedAt, t.UpdatedAt, t.Name = id, created, nowUTC(s.Now), strings.TrimSpace(in.Name)
	return checkTemplate(&t.Template)
}

// named explains that the name of a template is taken.
func named(err error, name string) error {
	if protocol.CodeOf(err) == protocol.CodeConflict && strings.HasPrefix(err.Error(), "Template") {
		return &protocol.Error{
			Code: protocol.CodeConflict, Message: fmt.Sprintf("There is a template %q already", name), Hint: "Use another name",
		}
	}
	return err
}

func checkTemplate(in *protocol.Template) error {
	invalid := func(format string, args ...any) error { return protocol.Errorf(protocol.CodeInvalid, format, args...) }
	for _, member := range []struct{ name, value string }{
		{"agent", in.Agent}, {"model", in.Model}, {"project", in.Project}, {"hostId", in.HostID},
	} {
		if utf8.RuneCountInString(member.value) > maxName {
			return invalid("%s is longer than %d characters", member.name, maxName)
		}
	}
	switch {
	case in.Name == "" || strings.ContainsFunc(in.Name, isControl):
		return invalid("name must be text on one line")
	case utf8.RuneCountInString(in.Name) > protocol.MaxTemplateName:
		return invalid("name is longer than %d characters", protocol.MaxTemplateName)
	case strings.TrimSpace(in.Prompt) == "":
		return invalid("prompt is required")
	case len(in.Prompt) > protocol.MaxTemplatePrompt:
		return invalid("prompt is longer than %d bytes", protocol.MaxTemplatePrompt)
	case len(in.Variables) > protocol.MaxTemplateVariables:
		return invalid("There are more than %d variables", protocol.MaxTemplateVariables)
	case in.Branch != "" && in.Project == "":
		return invalid("branch needs a project")
	}
	if err := protocol.CheckBranch(in.Branch); in.Branch != "" && err != nil {
		return err
	}
	if err := in.PermissionMode.Check(); err != nil {
		return err
	}
	for i := range in.Variables {
		if err := checkVariable(in.Variables, i); err != nil {
			return err
		}
	}
	return checkUsed(in)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

var (
	variableName = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_]{0,39}$`)
	// variableUse is a name in braces. Other text in braces stays as it is.
	variableUse = lazyregexp.New(`\{\{\s*([A-Za-z][A-Za-z0-9_]{0,39})\s*\}\}`)
)

func checkVariable(all []protocol.TemplateVariable, i int) error {
	v := &all[i]
	tooLong := func(s string) bool { return utf8.RuneCountInString(s) > protocol.MaxTemplateValue }
	switch {
	case !variableName.MatchString(v.Name):
		return protocol.Errorf(protocol.CodeInvalid,
			"variables[%d].name must be a letter, then letters, digits and _; at most 40 characters", i)
	case slices.ContainsFunc(all[:i], func(other protocol.TemplateVariable) bool { return other.Name == v.Name }):
		return protocol.Errorf(protocol.CodeInvalid, "The variable %s is there twice", v.Name)
	case len(v.Choices) > protocol.MaxTemplateChoices:
		return protocol.Errorf(protocol.CodeInvalid, "The variable %s has more than %d choices", v.Name,
			protocol.MaxTemplateChoices)
	case tooLong(v.Default) || slices.ContainsFunc(v.Choices, tooLong):
		return protocol.Errorf(protocol.CodeInvalid, "A value of the variable %s is longer than %d characters", v.Name,
			protocol.MaxTemplateValue)
	case slices.Contains(v.Choices, ""):
		return protocol.Errorf(protocol.CodeInvalid, "A choice of the variable %s is empty", v.Name)
	case v.Default != "" && len(v.Choices) > 0 && !slices.Contains(v.Choices, v.Default):
		return protocol.Errorf(protocol.CodeInvalid, "The default of the variable %s is not among its choices", v.Name)
	}
	return nil
}

// checkUsed refuses a prompt that uses variables that the template does not have.
func checkUsed(in *protocol.Template) error {
	known := map[string]bool{}
	for i := range in.Variables {
		known[in.Variables[i].Name] = true
	}
	var unknown []string
	for _, use := range variableUse.FindAllStringSubmatch(in.Prompt, -1) {
		if !known[use[1]] && !slices.Contains(unknown, use[1]) {
			unknown = append(unknown, use[1])
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return &protocol.Error{
		Code: protocol.CodeInvalid, Message: "The prompt has unknown variables: " + strings.Join(unknown, ", "),
		Hint: "Add them to variables, or remove the braces",
	}
}

// Fill returns the prompt of a template with values, and where and how its task runs. What no host offers
// any more is left out and named. CodeInvalid names unknown variables, missing values and values that are no choice.
func (s *Templates) Fill(
	ctx context.Context, userID, id string, req *protocol.FillTemplateRequest,
) (*protocol.FilledTemplate, error) {
	found, err := s.find(ctx, userID, id)
	if err != nil {
		return nil, err
	}
	prompt, err := fillPrompt(&found.Template, req.Values)
	if err != nil {
		return nil, err
	}
	filled := &protocol.FilledTemplate{Prompt: prompt, Gone: []protocol.TemplateGone{}, Task: protocol.CreateTaskRequest{
		Title: titleOf(prompt), Agent: found.Agent, Model: found.Model, Project: found.Project, HostID: found.HostID,
		Branch: found.Branch, PermissionMode: found.PermissionMode,
	}}
	if s.Offers == nil {
		return filled, nil
	}
	offers, err := s.Offers.List(ctx)
	if err != nil {
		return nil, err
	}
	leaveOutGone(filled, offers)
	return filled, nil
}

func fillPrompt(in *protocol.Template, values map[string]string) (string, error) {
	filled := map[string]string{}
	var missing []string
	for i := range in.Variables {
		v := &in.Variables[i]
		value := cmp.Or(values[v.Name], v.Default)
		switch {
		case value == "" && v.Required:
			missing = append(missing, v.Name)
		case value != "" && len(v.Choices) > 0 && !slices.Contains(v.Choices, value):
			return "", &protocol.Error{
				Code: protocol.CodeInvalid, Message: "The value of " + v.Name + " is not among its choices",
				Hint: "Choose one of " + strings.Join(v.Choices, ", "),
			}
		}
		filled[v.Name] = value
	}
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, known := filled[name]; !known {
			unknown = append(unknown, name)
		}
	}
	switch {
	case len(unknown) > 0:
		return "", protocol.Errorf(protocol.CodeInvalid, "The template has no variables %s", strings.Join(unknown, ", "))
	case len(missing) > 0:
		return "", protocol.Errorf(protocol.CodeInvalid, "Values are missing: %s", strings.Join(missing, ", "))
	}
	// Values are not looked at for variables: what a user writes stays as it is.
	prompt := variableUse.ReplaceAllStringFunc(in.Prompt, func(use string) string {
		return filled[variableUse.FindStringSubmatch(use)[1]]
	})
	if len(prompt) > protocol.MaxTemplatePrompt {
		return "", protocol.Errorf(protocol.CodeInvalid, "With its values the prompt is longer than %d bytes",
			protocol.MaxTemplatePrompt)
	}
	return prompt, nil
}

const filledTitle = 80 // characters of a title that is the beginning of a prompt

// titleOf returns the beginning of the first line of a prompt.
func titleOf(prompt string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	if runes := []rune(line); len(runes) > filledTitle {
		line = strings.TrimSpace(string(runes[:filledTitle-1])) + "…"
	}
	return line
}

// leaveOutGone removes what no host offers. Hosts that do not describe what they offer may have everything.
func leaveOutGone(filled *protocol.FilledTemplate, offers *protocol.OfferList) {
	task := &filled.Task
	gone := func(member string, value *string) {
		filled.Gone = append(filled.Gone, protocol.TemplateGone{Member: member, Value: *value})
		*value = ""
	}
	if task.HostID != "" && !slices.ContainsFunc(offers.Hosts, func(h protocol.OfferingHost) bool {
		return h.HostID == task.HostID
	}) {
		gone("hostId", &task.HostID)
	}
	var hosts []*protocol.HostOffer
	for i := range offers.Hosts {
		if h := &offers.Hosts[i]; task.HostID == "" || h.HostID == task.HostID {
			if h.Offer == nil {
				return
			}
			hosts = append(hosts, h.Offer)
		}
	}
	offered := func(isOf func(*protocol.HostOffer) bool) bool { return slices.ContainsFunc(hosts, isOf) }
	if task.Agent != "" && !offered(func(o *protocol.HostOffer) bool {
		return slices.ContainsFunc(o.Agents, func(a protocol.OfferedAgent) bool { return a.ID == task.Agent && a.Installed })
	}) {
		gone("agent", &task.Agent)
		task.Model = ""
	}
	if task.Project != "" && !offered(func(o *protocol.HostOffer) bool {
		return slices.ContainsFunc(o.Projects, func(p protocol.OfferedProject) bool {
			return p.Name == task.Project && p.Problem == ""
		})
	}) {
		gone("project", &task.Project)
		task.Branch = ""
	}
}
