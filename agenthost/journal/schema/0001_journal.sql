-- Times are Unix milliseconds, 0 for none.
CREATE TABLE sessions (
    id              TEXT PRIMARY KEY,
    broker_id       TEXT    NOT NULL,
    webhook_url     TEXT    NOT NULL,
    basic           INTEGER NOT NULL,
    agent           TEXT    NOT NULL,
    project         TEXT    NOT NULL,
    model           TEXT    NOT NULL,
    native          TEXT    NOT NULL,
    epoch           INTEGER NOT NULL,
    seq             INTEGER NOT NULL,
    acked_epoch     INTEGER NOT NULL,
    acked_seq       INTEGER NOT NULL,
    offset_reserved INTEGER NOT NULL,
    status          TEXT    NOT NULL,
    reason          TEXT    NOT NULL,
    remembered      TEXT    NOT NULL, -- JSON array of tool names
    outbox_state    TEXT    NOT NULL,
    outbox_error    TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    active_at       INTEGER NOT NULL
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
    PRIMARY KEY (session_id, id)
) WITHOUT ROWID;
CREATE INDEX turns_started ON turns (session_id, first_offset) WHERE started_at > 0;
CREATE INDEX turns_unfinished ON turns (session_id) WHERE state <> 'finished';

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
    expires_at INTEGER NOT NULL
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
