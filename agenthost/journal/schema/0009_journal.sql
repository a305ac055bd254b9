-- Times are Unix milliseconds, 0 for none.
CREATE TABLE sessions (
    id               TEXT    PRIMARY KEY,
    broker_id        TEXT    NOT NULL,
    webhook_url      TEXT    NOT NULL,
    basic            INTEGER NOT NULL,
    agent            TEXT    NOT NULL,
    project          TEXT    NOT NULL,
    model            TEXT    NOT NULL,
    agent_session_id TEXT    NOT NULL,
    epoch            INTEGER NOT NULL,
    seq              INTEGER NOT NULL,
    acked_epoch      INTEGER NOT NULL,
    acked_seq        INTEGER NOT NULL,
    offset_reserved  INTEGER NOT NULL,
    status           TEXT    NOT NULL,
    reason           TEXT    NOT NULL,
    remembered       TEXT    NOT NULL, -- JSON array of tool names
    outbox_state     TEXT    NOT NULL,
    outbox_error     TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    active_at        INTEGER NOT NULL,
    dir              TEXT    NOT NULL, -- working directory, for programs that outlive the host
    secret           TEXT    NOT NULL,
    incarnation      TEXT    NOT NULL, -- the broker's, which the session was compared with
    resend_epoch     INTEGER NOT NULL, -- events up to this position go with the prompts of their turns
    resend_seq       INTEGER NOT NULL,
    title            TEXT    NOT NULL,
    owner            TEXT    NOT NULL,
    permission_mode  TEXT    NOT NULL, -- what the user wants to be asked about; '' is "ask"
    key_hash         TEXT    NOT NULL, -- hex SHA-256 of the key that the broker proves itself with; '' for none
    owner_key_hash   TEXT    NOT NULL  -- hex SHA-256 of the owner's key, which opens workspaces; '' for none
) WITHOUT ROWID;

CREATE TABLE turns (
    session_id    TEXT    NOT NULL,
    id            TEXT    NOT NULL,
    state         TEXT    NOT NULL,
    prompt_sha256 TEXT    NOT NULL,
    announced_at  INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    started_at    INTEGER NOT NULL,
    finished_at   INTEGER NOT NULL,
    finish_reason TEXT    NOT NULL,
    reason        TEXT    NOT NULL,
    first_offset  INTEGER NOT NULL,
    last_epoch    INTEGER NOT NULL,
    last_offset   INTEGER NOT NULL,
    message_id    TEXT    NOT NULL,
    PRIMARY KEY (session_id, id)
) WITHOUT ROWID;
CREATE INDEX turns_started ON turns (session_id, first_offset) WHERE started_at > 0;
CREATE INDEX turns_unfinished ON turns (session_id) WHERE state <> 'finished';

-- For agents that lost their memory.
CREATE TABLE prompts (
    session_id TEXT NOT NULL,
    turn_id    TEXT NOT NULL,
    text       TEXT NOT NULL,
    PRIMARY KEY (session_id, turn_id)
) WITHOUT ROWID;

-- Bodies are large, so this table keeps its row ids.
CREATE TABLE events (
    session_id  TEXT    NOT NULL,
    epoch       INTEGER NOT NULL,
    seq         INTEGER NOT NULL,
    event_id    TEXT    NOT NULL,
    turn_id     TEXT    NOT NULL,
    type        TEXT    NOT NULL,
    body        BLOB    NOT NULL,
    frame_epoch INTEGER NOT NULL, -- the frame of the part that announced it, 0 for none
    frame       INTEGER NOT NULL,
    part        BLOB    NOT NULL
);
CREATE UNIQUE INDEX events_position ON events (session_id, epoch, seq);
CREATE INDEX events_frame ON events (session_id, turn_id, frame) WHERE frame > 0;

CREATE TABLE interactions (
    session_id TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    turn_id    TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    question   TEXT    NOT NULL, -- the open event
    answer     TEXT    NOT NULL, -- JSON, '' while unanswered
    expires_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (session_id, id)
) WITHOUT ROWID;
CREATE INDEX interactions_open ON interactions (session_id) WHERE state = 'open';

CREATE TABLE tokens (
    hash       BLOB    PRIMARY KEY,
    session_id TEXT    NOT NULL,
    turn_id    TEXT    NOT NULL,
    attach     INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    credential TEXT    NOT NULL -- that the stream token was issued to, as its broker named it; '' for none
) WITHOUT ROWID;
CREATE INDEX tokens_session ON tokens (session_id, expires_at);

CREATE TABLE dead_letters (
    id         INTEGER PRIMARY KEY,
    session_id TEXT    NOT NULL,
    epoch      INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    event_id   TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    body       BLOB    NOT NULL,
    at         INTEGER NOT NULL
);
CREATE INDEX dead_letters_session ON dead_letters (session_id);

-- One row that is written to test whether the disk accepts writes.
CREATE TABLE probe (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    value INTEGER NOT NULL
);
INSERT INTO probe (id, value) VALUES (1, 0);
