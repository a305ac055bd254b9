-- +goose Up

-- What users have hosts do to the work of tasks, each once (broker/acts.go). Rows are removed after a week.
CREATE TABLE acts (
    task_id text COLLATE "C" NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    id      text COLLATE "C" NOT NULL, -- the key that the client chose
    digest  bytea NOT NULL, -- SHA-256 of what was asked for
    seen_at timestamptz NOT NULL,
    answer  text COLLATE "C" NOT NULL, -- JSON; '' until the act is done
    PRIMARY KEY (task_id, id)
);
CREATE INDEX acts_seen ON acts (seen_at);
