-- +goose Up

-- The ends of deleted tasks' sessions that their hosts have not confirmed (broker/sessionends.go).
-- A task with a row here keeps its own row, which names the host.
CREATE TABLE session_ends (
    task_id  text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    since    timestamptz NOT NULL,
    due_at   timestamptz NOT NULL,
    attempts bigint NOT NULL,
    failure  text NOT NULL
);
CREATE INDEX session_ends_due ON session_ends (due_at);
