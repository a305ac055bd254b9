package main

import (
	"cmp"
	"fmt"
	"strings"

	"bellhop/client"
	"bellhop/protocol"
)

type templatesCommand struct {
	List templatesListCommand `cmd:"" help:"List the templates with their variables."`
	Run  templatesRunCommand  `cmd:"" help:"Start a task from a template."`
}

type templatesListCommand struct {
	callerFlags `embed:""`

	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints a line for each template.
func (c templatesListCommand) Run(env *environment) error {
	broker := c.client()
	defer broker.CloseIdleConnections()
	list, err := broker.Templates(env.ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(env.stdout, list)
	}
	rows := make([][]string, 0, len(list.Templates))
	for i := range list.Templates {
		t := &list.Templates[i]
		owner := "you"
		if t.ForAll {
			owner = "all users"
		}
		rows = append(rows, []string{t.Name, owner, orDash(variablesShown(t)), orDash(t.Agent), orDash(t.Project)})
	}
	return table(env.stdout, []string{"NAME", "FOR", "VARIABLES", "AGENT", "PROJECT"}, rows)
}

// variablesShown marks required variables with a star.
func variablesShown(t *protocol.Template) string {
	names := make([]string, len(t.Variables))
	for i, v := range t.Variables {
		names[i] = v.Name
		if v.Required && v.Default == "" {
			names[i] += "*"
		}
	}
	return strings.Join(names, ",")
}

type templatesRunCommand struct {
	callerFlags `embed:""`

	Set     map[string]string `mapsep:"none" placeholder:"NAME=VALUE" help:"Value of a variable; may be repeated."`
	Title   string            `help:"Title of the task; the beginning of its prompt unless set."`
	Agent   string            `help:"Agent instead of the template's."`
	Project string            `help:"Project instead of the template's."`
	Host    string            `placeholder:"ID" help:"Host instead of the template's."`
	Name    string            `arg:"" help:"Name of the template. Your own comes before one for all users."`
}

// Help is shown by --help.
func (templatesRunCommand) Help() string {
	return "The broker starts the task by itself; read it in the console or with 'bellhop chat'." + `

  bellhop templates run Fix --set issue=42`
}

// Run prints the id of the task. A template that names what no host offers any more is refused, unless a flag
// replaces it.
func (c templatesRunCommand) Run(env *environment) error {
	broker := c.client()
	defer broker.CloseIdleConnections()
	template, err := c.find(env, broker)
	if err != nil {
		return err
	}
	filled, err := broker.FillTemplate(env.ctx, template.ID, c.Set)
	if err != nil {
		return err
	}
	task := filled.Task
	if err := c.replace(&task, filled.Gone); err != nil {
		return err
	}
	made, err := broker.CreateTask(env.ctx, &task)
	if err != nil {
		return err
	}
	if _, err := broker.QueueMessage(env.ctx, made.ID, &protocol.QueueMessageRequest{Message: filled.Prompt}); err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.stdout, made.ID)
	return err
}

func (c templatesRunCommand) find(env *environment, broker *client.Client) (*protocol.Template, error) {
	list, err := broker.Templates(env.ctx)
	if err != nil {
		return nil, err
	}
	for i := range list.Templates {
		if list.Templates[i].Name == c.Name {
			return &list.Templates[i], nil
		}
	}
	return nil, &protocol.Error{
		Code: protocol.CodeNotFound, Message: fmt.Sprintf("there is no template %q", c.Name),
		Hint: "See: bellhop templates list",
	}
}

// replace puts the flags in the place of what the template names.
func (c templatesRunCommand) replace(task *protocol.CreateTaskRequest, gone []protocol.TemplateGone) error {
	for _, g := range gone {
		flags := map[string]string{"agent": c.Agent, "project": c.Project, "hostId": c.Host}
		names := map[string]string{"agent": "agent", "project": "project", "hostId": "host"}
		if flags[g.Member] == "" {
			return &protocol.Error{
				Code:    protocol.CodeInvalid,
				Message: fmt.Sprintf("the %s %s of the template is gone: no host offers it", names[g.Member], g.Value),
				Hint:    "Name another one with --" + names[g.Member] + ". See: bellhop agents offered, bellhop projects",
			}
		}
	}
	if c.Project != "" && c.Project != task.Project {
		task.Branch = ""
	}
	if c.Agent != "" && c.Agent != task.Agent {
		task.Model = ""
	}
	task.Agent, task.Project = cmp.Or(c.Agent, task.Agent), cmp.Or(c.Project, task.Project)
	task.HostID, task.Title = cmp.Or(c.Host, task.HostID), cmp.Or(c.Title, task.Title)
	return nil
}
