-- Acts that brokers asked for, so that no copy of a request has an effect again. They outlive their sessions.
CREATE TABLE acts (
    no         INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order in which they began
    session_id TEXT    NOT NULL,                  -- '' for acts on the whole host
    id         TEXT    NOT NULL,
    digest     BLOB    NOT NULL,                  -- SHA-256 of the request
    seen_at    INTEGER NOT NULL,                  -- by the broker, first
    status     INTEGER NOT NULL,                  -- of the answer; 0: there is none yet
    answer     BLOB    NOT NULL
);
CREATE UNIQUE INDEX acts_id ON acts (session_id, id);
CREATE INDEX acts_session ON acts (session_id, no);
CREATE INDEX acts_seen ON acts (seen_at);
