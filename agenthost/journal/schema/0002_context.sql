-- Prompts and working directories of sessions, for agents that lost their memory
-- and for programs that outlive the host.
CREATE TABLE prompts (
    session_id TEXT NOT NULL,
    turn_id    TEXT NOT NULL,
    text       TEXT NOT NULL,
    PRIMARY KEY (session_id, turn_id)
) WITHOUT ROWID;

ALTER TABLE sessions ADD COLUMN dir TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN secret TEXT NOT NULL DEFAULT '';
