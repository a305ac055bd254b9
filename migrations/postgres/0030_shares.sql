-- +goose Up

-- Links to transcripts of tasks (broker/share.go). A row is removed when its link has expired.
CREATE TABLE shares (
    id           text NOT NULL PRIMARY KEY,
    user_id      text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    task_id      text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    hash         bytea NOT NULL,
    title        text NOT NULL,
    last_seq     bigint NOT NULL,
    rev          bigint NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    last_used_at timestamptz
);
CREATE UNIQUE INDEX shares_hash ON shares (hash);
CREATE INDEX shares_user ON shares (user_id, created_at);
CREATE INDEX shares_task ON shares (task_id);
CREATE INDEX shares_expires ON shares (expires_at);

-- Prompts with variables (broker/template.go). One without an owner is for all users.
CREATE TABLE task_templates (
    id              text NOT NULL PRIMARY KEY,
    owner_id        text REFERENCES users (id) ON DELETE CASCADE,
    name            text NOT NULL,
    prompt          text NOT NULL,
    variables       text NOT NULL,
    agent           text NOT NULL,
    model           text NOT NULL,
    project         text NOT NULL,
    host_id         text NOT NULL,
    branch          text NOT NULL,
    permission_mode text NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL
);
CREATE UNIQUE INDEX task_templates_own ON task_templates (owner_id, name);
CREATE UNIQUE INDEX task_templates_shared ON task_templates (name) WHERE owner_id IS NULL;
