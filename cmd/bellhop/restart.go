package main

import (
	"fmt"
	"net/http"
	"net/url"

	"bellhop/agenthost"
	"bellhop/protocol"
)

type agentsRestartCommand struct {
	Session string `arg:"" help:"The session's id, which is the task's id."`

	hostFlags `embed:""`
}

// Help is shown by --help.
func (agentsRestartCommand) Help() string {
	return `Ends the agent program of a session; the next turn continues the conversation in a new one. An open turn ends with the
reason agent-restarted. The owner of a task can do the same in the console.

  bellhop agents restart --dev .bellhop tsk_…`
}

// Run prints the session and the turn that ended.
func (c agentsRestartCommand) Run(env *environment) error {
	host, err := c.localHost()
	if err != nil {
		return err
	}
	var done protocol.RestartResponse
	if err := host.call(env.ctx, http.MethodPost, "/session/"+url.PathEscape(c.Session)+"/restart", "",
		&done); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.stdout, "restarted the agent of %s%s\n", c.Session, endedTurn(done.EndedTurn))
	return err
}

func endedTurn(id string) string {
	if id == "" {
		return ""
	}
	return ", ended turn " + id
}

type workspacesStopCommand struct {
	Project string `required:"" placeholder:"NAME" help:"Project of the sessions."`

	hostFlags `embed:""`
}

// Help is shown by --help.
func (workspacesStopCommand) Help() string {
	return `Ends the agents of all sessions of a project on a running host, such as before its repository is moved. Their turns, open
and waiting, end. Workspaces and conversations stay: the next prompt starts an agent again.

  bellhop workspaces stop --project shop --dev .bellhop`
}

// Run prints a line for each session that had an agent.
func (c workspacesStopCommand) Run(env *environment) error {
	host, err := c.localHost()
	if err != nil {
		return err
	}
	var done struct {
		Stopped []agenthost.StoppedSession `json:"stopped"`
	}
	if err := host.call(env.ctx, http.MethodPost, "/projects/"+url.PathEscape(c.Project)+"/stop", "", &done); err != nil {
		return err
	}
	for _, s := range done.Stopped {
		if _, err := fmt.Fprintf(env.stdout, "stopped the agent of %s%s\n", s.SessionID, endedTurn(s.EndedTurn)); err != nil {
			return err
		}
	}
	if len(done.Stopped) == 0 {
		_, err = fmt.Fprintf(env.stdout, "no session of the project %s has an agent\n", c.Project)
	}
	return err
}
