package broker

import (
	"context"

	"bellhop/protocol"
)

// CommandLink asks hosts for the slash commands of sessions; broker/hosts implements it. CodeMethodNotAllowed:
// the host lists none, such as a basic one. CodeNotFound: it has no such session.
type CommandLink interface {
	SessionCommands(ctx context.Context, t Target, sessionID string) (*protocol.CommandList, error)
}

// Commands returns the slash commands of a task's agent, as far as the session's host knows them.
func (s *Files) Commands(ctx context.Context, userID, taskID string) (*protocol.CommandList, error) {
	task, err := s.Sessions.agentTask(ctx, userID, taskID)
	if err != nil {
		return nil, err
	}
	if task.OpenTurn == "" && task.LastTurn == nil || s.Sessions.Targets.missing(task) {
		return noCommands("The agent names its commands in its first turn"), nil
	}
	at, err := s.Sessions.find(ctx, userID, taskID)
	if err != nil {
		return nil, err
	}
	release, err := s.searches.acquire(ctx, userID, searchesOfUser)
	if err != nil {
		return nil, err
	}
	defer release()
	list, err := s.CommandLink.SessionCommands(ctx, at.target, taskID)
	switch protocol.CodeOf(err) {
	case "":
		return &protocol.CommandList{
			Commands: protocol.CleanCommands(list.Commands), Problem: cleanText(list.Problem),
		}, nil
	case protocol.CodeNotFound:
		return noCommands("The agent host does not have the session any more"), nil
	case protocol.CodeMethodNotAllowed:
		return noCommands("The agent host lists no commands: it is a basic agent server"), nil
	}
	return nil, err
}

func noCommands(problem string) *protocol.CommandList {
	return &protocol.CommandList{Commands: []protocol.Command{}, Problem: problem}
}
