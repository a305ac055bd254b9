CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    model      TEXT NOT NULL,
    token_hash BLOB NOT NULL,
    created_at INTEGER NOT NULL, -- milliseconds since 1970
    ended_at   INTEGER,
    end_reason TEXT NOT NULL DEFAULT '',
    bytes      INTEGER NOT NULL  -- of its lines, and a share for the rows themselves
) STRICT;

CREATE INDEX sessions_by_end ON sessions (ended_at, id);

CREATE TABLE lines (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    n          INTEGER NOT NULL,
    line       TEXT NOT NULL,
    UNIQUE (session_id, n)
) STRICT;
