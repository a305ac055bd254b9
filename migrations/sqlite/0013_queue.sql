-- +goose Up

-- The messages that the broker sends when the agent is idle (broker/queue.go).
CREATE TABLE queued_messages (
    task_id     text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    id          text NOT NULL,
    position    integer NOT NULL,
    message     text NOT NULL,
    artifacts   text NOT NULL,
    files       text NOT NULL,
    attachments text NOT NULL,
    bytes       integer NOT NULL,
    hash        text NOT NULL,
    state       text NOT NULL,
    turn        integer NOT NULL,
    turn_id     text NOT NULL,
    place       text NOT NULL,
    attempts    integer NOT NULL,
    failure     text NOT NULL,
    due_at      timestamp NOT NULL,
    created_at  timestamp NOT NULL,
    PRIMARY KEY (task_id, id)
);
CREATE INDEX queued_messages_due ON queued_messages (due_at);

ALTER TABLE tasks ADD COLUMN queued integer NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN queue_rev integer NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN queue_paused text NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN queue_reason text NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN queue_now text NOT NULL DEFAULT '';
