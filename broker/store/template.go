package store

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

const template = "Template"

var templates = table.New("task_templates",
	table.Text("id", func(t *broker.Template) *string { return &t.ID }).Key(),
	table.OptionalText("owner_id", func(t *broker.Template) *string { return &t.OwnerID }).Fixed(),
	table.Text("name", func(t *broker.Template) *string { return &t.Name }),
	table.Text("prompt", func(t *broker.Template) *string { return &t.Prompt }),
	table.JSONList("variables", "[]", func(t *broker.Template) *[]protocol.TemplateVariable { return &t.Variables }),
	table.Text("agent", func(t *broker.Template) *string { return &t.Agent }),
	table.Text("model", func(t *broker.Template) *string { return &t.Model }),
	table.Text("project", func(t *broker.Template) *string { return &t.Project }),
	table.Text("host_id", func(t *broker.Template) *string { return &t.HostID }),
	table.Text("branch", func(t *broker.Template) *string { return &t.Branch }),
	table.Text("permission_mode", func(t *broker.Template) *protocol.PermissionMode { return &t.PermissionMode }),
	table.Time("created_at", func(t *broker.Template) *time.Time { return &t.CreatedAt }).Fixed(),
	table.Time("updated_at", func(t *broker.Template) *time.Time { return &t.UpdatedAt }),
)

func (s *Store) Templates(ctx context.Context, ownerID string, withShared bool) ([]broker.Template, error) {
	var own, shared []broker.Template
	var err error
	if ownerID != "" {
		own, err = database.Find(ctx, s.db, templates, "Templates of user", ownerID,
			"WHERE owner_id = ? ORDER BY name", ownerID)
	}
	if err != nil || ownerID != "" && !withShared {
		return own, err
	}
	shared, err = database.Find(ctx, s.db, templates, "Templates", "", "WHERE owner_id IS NULL ORDER BY name")
	return append(own, shared...), err
}

func (s *Store) CreateTemplate(ctx context.Context, t *broker.Template) error {
	return s.db.Run(ctx, template, t.ID, templates.Insert(*t))
}

func (s *Store) UpdateTemplate(ctx context.Context, t *broker.Template) error {
	return s.db.RunOne(ctx, template, t.ID, templates.Update(t))
}

func (s *Store) DeleteTemplate(ctx context.Context, id string) error {
	return s.db.ExecOne(ctx, template, id, `DELETE FROM task_templates WHERE id = ?`, id)
}
