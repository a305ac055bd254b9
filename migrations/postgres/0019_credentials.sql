-- +goose Up

-- The task's host announced that it stores for which sign-in or API token it issues a stream token. A
-- broker of an earlier version names none.
ALTER TABLE tasks ADD COLUMN host_credentials boolean NOT NULL DEFAULT FALSE;

-- Sign-ins and API tokens that have ended, and whose stream tokens and streams the host of the task has
-- not confirmed to have ended (broker/revocations.go). Deleted tasks lose their host.
CREATE TABLE ended_credentials (
    task_id    text COLLATE "C" NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    credential text COLLATE "C" NOT NULL,
    host_id    text REFERENCES hosts (id) ON DELETE CASCADE,
    due_at     timestamptz NOT NULL,
    attempts   bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (task_id, credential)
);
CREATE INDEX ended_credentials_due ON ended_credentials (due_at);
CREATE INDEX ended_credentials_host ON ended_credentials (host_id);

-- Queues that wait until their users are enabled (broker/queue_user.go).
CREATE INDEX tasks_queue_withheld ON tasks (user_id) WHERE queue_paused = 'user-disabled';
