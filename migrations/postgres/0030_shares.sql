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
