-- +goose Up

-- What users have hosts do to the work of tasks, each once (broker/acts.go). Rows are removed after a week.
CREATE TABLE acts (
    task_id text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    id      text NOT NULL, -- the key that the client chose
    digest  blob NOT NULL, -- SHA-256 of what was asked for
    seen_at timestamp NOT NULL,
    answer  text NOT NULL, -- JSON; '' until the act is done
    PRIMARY KEY (task_id, id)
);
CREATE INDEX acts_seen ON acts (seen_at);
