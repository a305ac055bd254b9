package broker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"bellhop/protocol"
)

const (
	workspacesTimeout = 8 * time.Second // git reads every workspace
	workspacesOfUser  = 2               // lists of one user that are read at a time
)

// Workspaces lists the workspaces that users' agents created by name, from the answers of the
// registered hosts. A workspace belongs to the user whose task created it.
type Workspaces struct {
	Store   HostLister
	Targets *Targets
	Link    WorkspaceLink
	Log     *slog.Logger

	lists userSlots
}

// WorkspaceLink asks hosts; broker/hosts implements it. CodeNotFound: the host knows no workspaces,
// such as a basic one.
type WorkspaceLink interface {
	Workspaces(ctx context.Context, t Target, userID string) (*protocol.WorkspaceList, error)
}

// List returns the user's workspaces on every registered host. Hosts that do not answer delay it by
// at most eight seconds in all: those that the last probe could not reach are asked after the others.
func (s *Workspaces) List(ctx context.Context, userID string) (*protocol.HostWorkspaceList, error) {
	hosts, err := s.Store.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	release, err := s.lists.acquire(ctx, userID, workspacesOfUser)
	if err != nil {
		return nil, err
	}
	defer release()
	slices.SortStableFunc(hosts, func(a, b Host) int { return cmp.Compare(lastToAsk(&a), lastToAsk(&b)) })
	asking, cancel := context.WithTimeout(ctx, workspacesTimeout)
	defer cancel()
	list := &protocol.HostWorkspaceList{Hosts: make([]protocol.WorkspaceHost, len(hosts))}
	var group errgroup.Group
	group.SetLimit(probesAtOnce)
	for i := range hosts {
		group.Go(func() error {
			list.Hosts[i] = s.ofHost(asking, &hosts[i], userID)
			return nil
		})
	}
	_ = group.Wait() // a failure is a problem of its host
	slices.SortFunc(list.Hosts, func(a, b protocol.WorkspaceHost) int { return strings.Compare(a.Name, b.Name) })
	return list, ctx.Err()
}

// lastToAsk sorts hosts that cannot be reached behind the others.
func lastToAsk(h *Host) int {
	if h.Health == HostUnreachable {
		return 1
	}
	return 0
}

func (s *Workspaces) ofHost(ctx context.Context, h *Host, userID string) protocol.WorkspaceHost {
	shown := protocol.WorkspaceHost{HostID: h.ID, Name: h.Name, Workspaces: []protocol.Workspace{}}
	opened, err := s.Targets.Store.Host(ctx, h.ID) // with its passwords
	var found *protocol.WorkspaceList
	if err == nil {
		found, err = s.Link.Workspaces(ctx, s.Targets.OfHost(opened), userID)
	}
	switch {
	case err == nil:
		shown.Workspaces = cleanWorkspaces(found.Workspaces)
	case protocol.CodeOf(err) == protocol.CodeNotFound:
		shown.Problem = "The host has no workspaces that tasks can name: it is a basic agent server"
	default:
		shown.Problem = "The host did not answer"
		s.Log.InfoContext(ctx, "the workspaces of a host are not known", "host", h.Name, "error", err)
	}
	return shown
}

// find returns the user's workspace of a name, and its host. hostID "" means any host. CodeNotFound:
// the user has none, as far as the hosts answered; CodeBadGateway: no host has it, and one did not answer.
func (s *Workspaces) find(ctx context.Context, userID, hostID, name string) (string, *protocol.Workspace, error) {
	list, err := s.List(ctx, userID)
	if err != nil {
		return "", nil, err
	}
	var found *protocol.Workspace
	var at []protocol.WorkspaceHost
	problem := ""
	for _, h := range list.Hosts {
		if hostID != "" && h.HostID != hostID {
			continue
		}
		if h.Problem != "" {
			problem = h.Name + ": " + h.Problem
		}
		for i := range h.Workspaces {
			if h.Workspaces[i].Name == name {
				found, at = &h.Workspaces[i], append(at, h)
			}
		}
	}
	switch {
	case len(at) > 1:
		return "", nil, &protocol.Error{
			Code: protocol.CodeConflict, Message: fmt.Sprintf("Several hosts have a workspace %q", name),
			Hint: fmt.Sprintf("Name one by hostId: %s (%s) or %s (%s)", at[0].HostID, at[0].Name, at[1].HostID, at[1].Name),
		}
	case found != nil:
		return at[0].HostID, found, nil
	case problem != "":
		return "", nil, &protocol.Error{
			Code: protocol.CodeBadGateway, Message: fmt.Sprintf("The workspace %q was not found", name), Hint: problem,
		}
	}
	return "", nil, &protocol.Error{
		Code: protocol.CodeNotFound, Message: fmt.Sprintf("Workspace %q not found", name),
		Hint: "GET /api/workspaces lists yours: an agent of one of your tasks creates them with workspace_create",
	}
}

// setWorkspace places a new task in a workspace of its user, on the workspace's host and in its project.
func (s *Tasks) setWorkspace(ctx context.Context, t *Task, name string) error {
	switch {
	case name == "":
		return nil
	case utf8.RuneCountInString(name) > protocol.MaxWorkspaceName:
		return protocol.Errorf(protocol.CodeInvalid, "workspace is longer than %d characters", protocol.MaxWorkspaceName)
	case t.Mode != protocol.ModeAgent:
		return errNoAgent()
	case t.AgentURL != "" || s.Workspaces == nil:
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "workspace and agentUrl exclude each other",
			Hint: "A workspace is on a registered host",
		}
	}
	hostID, found, err := s.Workspaces.find(ctx, t.UserID, t.HostID, name)
	if err != nil {
		return err
	}
	if t.Project != "" && t.Project != found.Project {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("The workspace %q is not of the project %q", name, t.Project),
			Hint: "Leave project out: a task in a workspace works on the workspace's project",
		}
	}
	if found.UsedBy != "" {
		return &protocol.Error{
			Code: protocol.CodeConflict, Message: fmt.Sprintf("Another task works in the workspace %q", name),
			Hint:   "Only one task at a time works in a workspace: continue that one, or delete it",
			Fields: map[string]any{"usedBy": found.UsedBy},
		}
	}
	t.HostID, t.Project, t.Workspace = hostID, found.Project, name
	return nil
}

// checkWorkspace returns an error if a change would take a task out of its workspace.
func (t *Task) checkWorkspace(before *Task) error {
	if t.Workspace == "" || t.HostID == before.HostID && t.AgentURL == before.AgentURL && t.Project == before.Project {
		return nil
	}
	return &protocol.Error{
		Code: protocol.CodeInvalid, Message: fmt.Sprintf("The task works in the workspace %q", t.Workspace),
		Hint: "Its host and its project cannot change: create another task",
	}
}

// Limits of what a host says about a workspace.
const (
	maxWorkspaces    = 500
	maxWorkspaceText = 4 << 10
)

// cleanWorkspaces limits and sanitizes a host's list.
func cleanWorkspaces(list []protocol.Workspace) []protocol.Workspace {
	out := make([]protocol.Workspace, 0, min(len(list), maxWorkspaces))
	for i := range list[:min(len(list), maxWorkspaces)] {
		w := list[i]
		w.Name, w.Project, w.Branch = cleanText(w.Name), cleanText(w.Project), cleanText(w.Branch)
		w.CreatedBy, w.UsedBy, w.Metadata = cleanText(w.CreatedBy), cleanText(w.UsedBy), cleanMetadata(w.Metadata)
		out = append(out, w)
	}
	return out
}

func cleanMetadata(all map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range all {
		if len(out) < maxMetadata {
			out[cleanText(key)] = cleanText(value)
		}
	}
	return out
}

func cleanRemote(r *protocol.RemoteState) *protocol.RemoteState {
	if r == nil {
		return nil
	}
	clean := *r
	for _, text := range []*string{&clean.Address, &clean.Base, &clean.Pushed, &clean.Diverged} {
		*text = cleanText(*text)
	}
	if !slices.Contains(protocol.ForgeKinds(), clean.Forge) {
		clean.Forge = ""
	}
	if request := clean.PullRequest; request != nil {
		shown := *request
		shown.URL, shown.Title = cleanLink(request.URL), cleanText(request.Title)
		shown.Body = protocol.SanitizeText(request.Body[:min(len(request.Body), protocol.MaxPullRequestBody)])
		if clean.PullRequest = &shown; shown.URL == "" {
			clean.PullRequest = nil
		}
	}
	return &clean
}

const maxMetadata = 64 // keys of a workspace

func cleanText(text string) string {
	if len(text) > maxWorkspaceText {
		text = text[:maxWorkspaceText]
	}
	return protocol.SanitizeText(strings.ToValidUTF8(text, "\uFFFD"))
}

// Workspace returns what the workspace of a task's session holds. The answer has none if the task has
// no session yet, or if its host does not describe workspaces.
func (s *Sessions) Workspace(ctx context.Context, userID, taskID string) (*protocol.SessionWorkspace, error) {
	task, err := s.agentTask(ctx, userID, taskID)
	none := &protocol.SessionWorkspace{}
	if err != nil || task.OpenTurn == "" && task.LastTurn == nil || s.Targets.missing(task) {
		return none, err
	}
	at, err := s.find(ctx, userID, taskID)
	if err != nil {
		return nil, err
	}
	release, err := s.diffs.acquire(ctx, userID, diffsOfUser)
	if err != nil {
		return nil, err
	}
	found, err := s.Link.Workspace(ctx, at.target, taskID)
	release()
	switch protocol.CodeOf(err) {
	case "":
	case protocol.CodeNotFound, protocol.CodeMethodNotAllowed, protocol.CodeNoWorkspace:
		return none, nil
	default:
		return nil, err
	}
	if w := found.Workspace; w != nil {
		w.Branch, w.Metadata, w.Dir = cleanText(w.Branch), cleanMetadata(w.Metadata), cleanText(w.Dir)
		w.Ships = slices.DeleteFunc(w.Ships, func(step protocol.ShipStep) bool {
			return !slices.Contains(protocol.ShipSteps(), step)
		})
		w.Remote = cleanRemote(w.Remote)
	}
	return found, nil
}
