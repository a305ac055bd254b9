package broker

import (
	"context"

	"bellhop/protocol"
)

// searchesOfUser is how many searches for files one user's requests make at a time.
const searchesOfUser = 4

// Files finds what a user's message can name, files and slash commands, from the answers of the agent hosts, and shows
// the files of tasks' workspaces.
type Files struct {
	Sessions    *Sessions
	Link        FileLink
	CommandLink CommandLink
	ContentLink ContentLink

	searches userSlots
}

// FileLink asks hosts; broker/hosts implements it. CodeMethodNotAllowed: the host lists no files, such as
// a basic one. CodeNotFound: the session has no workspace yet.
type FileLink interface {
	SessionPaths(ctx context.Context, t Target, sessionID, query string) (*protocol.PathList, error)
	ProjectPaths(ctx context.Context, t Target, project, branch, query string) (*protocol.PathList, error)
}

// OfTask searches in the workspace of a task's session. Before the first turn, it searches in the task's
// project at its branch.
func (s *Files) OfTask(ctx context.Context, userID, taskID, query string) (*protocol.PathList, error) {
	if err := protocol.CheckPathQuery(query); err != nil {
		return nil, err
	}
	task, err := s.Sessions.agentTask(ctx, userID, taskID)
	if err != nil {
		return nil, err
	}
	if s.Sessions.Targets.missing(task) {
		return noPaths("The task has no agent host yet"), nil
	}
	at, err := s.Sessions.find(ctx, userID, taskID)
	if err != nil {
		return nil, err
	}
	return s.search(ctx, userID, func() (*protocol.PathList, error) {
		if task.OpenTurn != "" || task.LastTurn != nil {
			list, err := s.Link.SessionPaths(ctx, at.target, taskID, query)
			if protocol.CodeOf(err) != protocol.CodeNotFound {
				return list, err
			}
		}
		if task.Project == "" {
			return noPaths("The task's directory is empty until its first turn"), nil
		}
		return s.Link.ProjectPaths(ctx, at.target, task.Project, task.Branch, query)
	})
}

// ProjectQuery names what a search for a task that does not exist yet is about.
type ProjectQuery struct {
	HostID  string // "" = the host that the task would go to
	Project string
	Branch  string // "" = the project's default
	Query   string
}

// OfProject searches in a project of a registered host.
func (s *Files) OfProject(ctx context.Context, userID string, q ProjectQuery) (*protocol.PathList, error) {
	if err := protocol.CheckPathQuery(q.Query); err != nil {
		return nil, err
	}
	wanted := &Task{Mode: protocol.ModeAgent, Project: q.Project, Branch: q.Branch}
	if q.Project == "" {
		return nil, protocol.Errorf(protocol.CodeInvalid, "project is required")
	}
	if err := checkBranch(wanted, ""); err != nil {
		return nil, err
	}
	hostID := q.HostID
	if hostID == "" {
		hosts, _, err := rankHosts(ctx, s.Sessions.Store, s.Sessions.Offers, wanted)
		if err != nil {
			return nil, err
		}
		if len(hosts) == 0 {
			return noPaths("No agent host can be reached"), nil
		}
		hostID = hosts[0].ID
	}
	host, err := s.Sessions.Targets.Store.Host(ctx, hostID) // with its passwords
	if err != nil {
		return nil, err
	}
	return s.search(ctx, userID, func() (*protocol.PathList, error) {
		return s.Link.ProjectPaths(ctx, s.Sessions.Targets.OfHost(host), q.Project, q.Branch, q.Query)
	})
}

// search runs ask for a user, and says why a host lists no files.
func (s *Files) search(
	ctx context.Context, userID string, ask func() (*protocol.PathList, error),
) (*protocol.PathList, error) {
	release, err := s.searches.acquire(ctx, userID, searchesOfUser)
	if err != nil {
		return nil, err
	}
	defer release()
	list, err := ask()
	switch protocol.CodeOf(err) {
	case "":
		return cleanPaths(list), nil
	case protocol.CodeMethodNotAllowed:
		return noPaths("The agent host lists no files: it is a basic agent server"), nil
	}
	return nil, err
}

func noPaths(problem string) *protocol.PathList {
	return &protocol.PathList{Paths: []string{}, Problem: problem}
}

// cleanPaths limits and sanitizes a host's list.
func cleanPaths(list *protocol.PathList) *protocol.PathList {
	out := &protocol.PathList{Paths: []string{}, More: list.More, Problem: cleanText(list.Problem)}
	for _, path := range list.Paths {
		switch {
		case len(out.Paths) == protocol.MaxPaths:
			out.More = true
			return out
		case path != "" && len(path) <= protocol.MaxPath:
			out.Paths = append(out.Paths, cleanText(path))
		}
	}
	return out
}
