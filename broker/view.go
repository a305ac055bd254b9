package broker

import "bellhop/protocol"

// View returns the task as the API shows it.
func (t *Task) View() *protocol.Task {
	v := &protocol.Task{
		ID: t.ID, Title: t.Title, Mode: t.Mode, Agent: t.Agent, Project: t.Project, Model: t.Model, HostID: t.HostID,
		PermissionMode: t.PermissionMode, Workspace: t.Workspace, Branch: t.Branch, AgentURL: t.AgentURL,
		AgentStatus: t.AgentStatus, Reason: t.Reason, OpenTurn: optional(t.OpenTurn),
		OpenInteractions: t.OpenQuestions, ReadRev: t.ReadRev, Rev: t.Rev, Archived: t.Archived,
		CreatedAt: t.CreatedAt, LastActivityAt: t.LastActivityAt,
		BasicHost: !t.HostEvents && (t.OpenTurn != "" || t.LastTurn != nil),
	}
	if t.LastTurn != nil {
		last := *t.LastTurn
		v.LastTurn = &last
	}
	if q := t.Queue.TaskQueue; q.Messages > 0 {
		v.Queue = &q
	}
	return v
}

// ending describes how a closed turn ended.
func (t *Turn) ending() protocol.LastTurn {
	return protocol.LastTurn{ID: t.ID, FinishReason: t.FinishReason, Reason: t.Reason, Usage: t.Usage}
}

// View returns the interaction as the API shows it.
func (q *Interaction) View() *protocol.Interaction {
	return &protocol.Interaction{
		ID: q.ID, TaskID: q.TaskID, TaskTitle: q.TaskTitle, TurnID: q.TurnID, State: q.State, Kind: q.Kind,
		Prompt: q.Prompt, ToolCallID: q.ToolCallID, ToolName: q.ToolName, Args: q.Args, Level: q.Level,
		Warning: q.Warning, Default: q.Default, Options: q.Options, ExpiresAt: q.ExpiresAt,
		Answer: q.Answer, CreatedAt: q.CreatedAt,
	}
}

// View returns the host as administrators see it.
func (h *Host) View() *protocol.Host {
	return &protocol.Host{
		ID: h.ID, Name: h.Name, URL: h.URL, Health: h.Health, Reach: h.Reach,
		OpenTurns: h.OpenTurns, OwedEnds: h.OwedEnds, CreatedAt: h.CreatedAt,
	}
}

// optional returns nil for "".
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
