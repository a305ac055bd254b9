package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"bellhop/protocol"
)

// TaskQuery selects a page of tasks; the zero value selects the first page of all tasks.
type TaskQuery struct {
	Cursor   string // NextCursor of the previous page
	Limit    int
	Q        string
	Archived *bool
	State    string // waiting, working or failed
}

// MessageQuery selects a page of messages by position (After, Before) or by change (Since, a
// rev).
type MessageQuery struct {
	After, Before, Since *int64
	Limit                int

	// Turn (that has ended) and AtLeast (the seq of an event in the stream) make the broker
	// wait until their rows are there, for Wait ("5s").
	Turn, Wait string
	AtLeast    *int64
}

// CreateTask opens a task.
func (c *Client) CreateTask(ctx context.Context, req *protocol.CreateTaskRequest) (*protocol.Task, error) {
	return post[protocol.Task](ctx, c, "/api/tasks", req)
}

// Tasks returns a page of the user's tasks, by last activity.
func (c *Client) Tasks(ctx context.Context, q TaskQuery) (*protocol.TaskList, error) {
	query := url.Values{}
	setString(query, "cursor", q.Cursor)
	setString(query, "q", q.Q)
	setString(query, "state", q.State)
	setLimit(query, q.Limit)
	if q.Archived != nil {
		query.Set("archived", strconv.FormatBool(*q.Archived))
	}
	return get[protocol.TaskList](ctx, c, "/api/tasks", query)
}

// Task returns a task by its id; CodeNotFound if it does not exist or belongs to another user.
func (c *Client) Task(ctx context.Context, id string) (*protocol.Task, error) {
	return get[protocol.Task](ctx, c, "/api/tasks/"+url.PathEscape(id), nil)
}

// OnlyCopies lists what exists only in the workspaces of a task's session, so that a deletion would lose it. The list has
// no ID while the task's host does not tell.
func (c *Client) OnlyCopies(ctx context.Context, taskID string) (*protocol.OnlyCopies, error) {
	return get[protocol.OnlyCopies](ctx, c, "/api/tasks/"+url.PathEscape(taskID)+"/only-copies", nil)
}

// DeleteTask deletes a task and its session. The host keeps workspaces in which something exists only, unless onlyCopies is
// the ID of that list ("" confirms nothing); kept is the list, nil if it kept none or did not answer in time. CodeConflict:
// another list than the confirmed one is true now, and nothing was deleted.
func (c *Client) DeleteTask(ctx context.Context, id, onlyCopies string) (kept *protocol.OnlyCopies, err error) {
	query := url.Values{}
	setString(query, "onlyCopies", onlyCopies)
	var done protocol.TaskDeletion
	if err := c.call(ctx, http.MethodDelete, "/api/tasks/"+url.PathEscape(id), query, nil, &done); err != nil {
		return nil, err
	}
	return done.Kept, nil
}

// Messages returns a page of a task's messages in ascending order.
func (c *Client) Messages(ctx context.Context, taskID string, q MessageQuery) (*protocol.MessageList, error) {
	query := url.Values{}
	setInt(query, "after", q.After)
	setInt(query, "before", q.Before)
	setInt(query, "since", q.Since)
	setInt(query, "atLeast", q.AtLeast)
	setString(query, "turn", q.Turn)
	setString(query, "wait", q.Wait)
	setLimit(query, q.Limit)
	return get[protocol.MessageList](ctx, c, "/api/tasks/"+url.PathEscape(taskID)+"/messages", query)
}

// History yields all messages of a task; it reads page by page.
func (c *Client) History(ctx context.Context, taskID string) iter.Seq2[protocol.Message, error] {
	return func(yield func(protocol.Message, error) bool) {
		for after := int64(0); ; {
			page, err := c.Messages(ctx, taskID, MessageQuery{After: &after, Limit: 500})
			if err != nil {
				yield(protocol.Message{}, err)
				return
			}
			for _, message := range page.Messages {
				if !yield(message, nil) {
					return
				}
			}
			if len(page.Messages) == 0 || page.NextAfter <= after {
				return
			}
			after = page.NextAfter
		}
	}
}

// Agents returns the agents and projects that the registered hosts offer, with hosts that are
// offline. It may take a few seconds while a host does not answer.
func (c *Client) Agents(ctx context.Context) (*protocol.OfferList, error) {
	return get[protocol.OfferList](ctx, c, "/api/agents", nil)
}

// Workspaces returns the user's workspaces that agents created by name, on every registered host. A new task can
// name one.
func (c *Client) Workspaces(ctx context.Context) (*protocol.HostWorkspaceList, error) {
	return get[protocol.HostWorkspaceList](ctx, c, "/api/workspaces", nil)
}

// TaskUsage returns what the closed turns of a task used, as their agents reported it.
func (c *Client) TaskUsage(ctx context.Context, taskID string) (*protocol.TaskUsage, error) {
	return get[protocol.TaskUsage](ctx, c, "/api/tasks/"+url.PathEscape(taskID)+"/usage", nil)
}

// TaskWorkspace returns the branch and the metadata of a task's workspace, and whether it has uncommitted changes.
func (c *Client) TaskWorkspace(ctx context.Context, taskID string) (*protocol.SessionWorkspace, error) {
	return get[protocol.SessionWorkspace](ctx, c, "/api/tasks/"+url.PathEscape(taskID)+"/workspace", nil)
}

// Announce makes an announcement. CodeForbidden: the caller is no administrator.
func (c *Client) Announce(ctx context.Context, req *protocol.AnnounceRequest) (*protocol.Announcement, error) {
	return post[protocol.Announcement](ctx, c, "/api/announcements", req)
}

// Announcements returns the announcements that hold.
func (c *Client) Announcements(ctx context.Context) (*protocol.AnnouncementList, error) {
	return get[protocol.AnnouncementList](ctx, c, "/api/announcements", nil)
}

// CancelAnnouncement takes an announcement back. CodeForbidden: the caller is no administrator.
func (c *Client) CancelAnnouncement(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/api/announcements/"+url.PathEscape(id), nil, nil, nil)
}

// Orphans returns the sessions whose tasks the broker does not have. CodeForbidden: the
// caller is no administrator.
func (c *Client) Orphans(ctx context.Context) (*protocol.OrphanList, error) {
	return get[protocol.OrphanList](ctx, c, "/api/orphans", nil)
}

// Adopt makes a task for an orphan and returns it.
func (c *Client) Adopt(ctx context.Context, sessionID string, req *protocol.AdoptRequest) (*protocol.Task, error) {
	return post[protocol.Task](ctx, c, "/api/orphans/"+url.PathEscape(sessionID), req)
}

// Interactions returns the questions to the user over all tasks in the given state; "" = all.
func (c *Client) Interactions(ctx context.Context, state protocol.InteractionState) ([]protocol.Interaction, error) {
	query := url.Values{}
	setString(query, "state", string(state))
	list, err := get[struct {
		Interactions []protocol.Interaction `json:"interactions"`
	}](ctx, c, "/api/interactions", query)
	if err != nil {
		return nil, err
	}
	return list.Interactions, nil
}

// Answer answers an interaction. Repeating the same answer is allowed. The interaction changes
// when the host's event arrives.
func (c *Client) Answer(ctx context.Context, interactionID string, req *protocol.AnswerRequest) error {
	return c.call(ctx, http.MethodPost, "/api/interactions/"+url.PathEscape(interactionID), nil, req, nil)
}

// Hosts returns the registered agent hosts.
func (c *Client) Hosts(ctx context.Context) ([]protocol.Host, error) {
	list, err := get[struct {
		Hosts []protocol.Host `json:"hosts"`
	}](ctx, c, "/api/hosts", nil)
	if err != nil {
		return nil, err
	}
	return list.Hosts, nil
}

func get[T any](ctx context.Context, c *Client, path string, query url.Values) (*T, error) {
	out := new(T)
	if err := c.call(ctx, http.MethodGet, path, query, nil, out); err != nil {
		return nil, err
	}
	return out, nil
}

func post[T any](ctx context.Context, c *Client, path string, body any) (*T, error) {
	out := new(T)
	if err := c.call(ctx, http.MethodPost, path, nil, body, out); err != nil {
		return nil, err
	}
	return out, nil
}

func setString(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

func setInt(query url.Values, name string, value *int64) {
	if value != nil {
		query.Set(name, strconv.FormatInt(*value, 10))
	}
}

func setLimit(query url.Values, limit int) {
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
}
