-- +goose Up

-- Tasks whose stream tokens and streams must end, because their user was disabled, and whose hosts have
-- not confirmed it (broker/revocations.go).
CREATE TABLE revocations (
    task_id    text NOT NULL PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    due_at     timestamp NOT NULL,
    attempts   integer NOT NULL,
    expires_at timestamp NOT NULL
);
CREATE INDEX revocations_due ON revocations (due_at);
