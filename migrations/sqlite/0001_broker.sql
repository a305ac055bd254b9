-- +goose Up

CREATE TABLE meta (
    name  text NOT NULL PRIMARY KEY,
    value text NOT NULL
);

-- A known text, sealed at the first start. A wrong keyset cannot unseal it and is noticed at
-- once.
CREATE TABLE keycheck (
    id     text NOT NULL PRIMARY KEY,
    sealed blob NOT NULL
);

CREATE TABLE users (
    id            text NOT NULL PRIMARY KEY,
    email         text NOT NULL,
    password_hash text NOT NULL,
    admin         boolean NOT NULL,
    created_at    timestamp NOT NULL
);
CREATE UNIQUE INDEX users_email ON users (email);

CREATE TABLE api_tokens (
    id               text NOT NULL PRIMARY KEY,
    user_id          text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name             text NOT NULL,
    kind             text NOT NULL,
    agent_identifier text NOT NULL,
    hash             blob NOT NULL,
    expires_at       timestamp,
    last_used_at     timestamp,
    created_at       timestamp NOT NULL
);
CREATE UNIQUE INDEX api_tokens_hash ON api_tokens (hash);
CREATE INDEX api_tokens_user ON api_tokens (user_id);

CREATE TABLE logins (
    token      text NOT NULL PRIMARY KEY,
    data       blob NOT NULL,
    expires_at timestamp NOT NULL
);
CREATE INDEX logins_expires ON logins (expires_at);

CREATE TABLE login_links (
    hash       blob NOT NULL PRIMARY KEY,
    user_id    text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at timestamp NOT NULL
);
CREATE INDEX login_links_user ON login_links (user_id);

CREATE TABLE hosts (
    id                text NOT NULL PRIMARY KEY,
    name              text NOT NULL,
    url               text NOT NULL,
    password          blob,
    previous_password blob,
    previous_until    timestamp,
    health            text NOT NULL,
    checked_at        timestamp,
    created_at        timestamp NOT NULL
);
CREATE UNIQUE INDEX hosts_name ON hosts (name);

-- The times have no index, because every event changes them and a user has few enough tasks to
-- sort.
CREATE TABLE tasks (
    id                text NOT NULL PRIMARY KEY,
    user_id           text NOT NULL REFERENCES users (id),
    title             text NOT NULL,
    mode              text NOT NULL,
    agent             text NOT NULL,
    project           text NOT NULL,
    host_id           text REFERENCES hosts (id),
    agent_url         text NOT NULL,
    agent_password    blob,
    previous_password blob,
    previous_until    timestamp,
    guarded           boolean NOT NULL,
    webhook_secret    blob NOT NULL,
    agent_status      text NOT NULL,
    reason            text NOT NULL,
    open_turn         text NOT NULL,
    last_turn         text,
    epoch             integer NOT NULL,
    seq               integer NOT NULL,
    host_events       boolean NOT NULL,
    rev               integer NOT NULL,
    read_rev          integer NOT NULL,
    last_seq          integer NOT NULL,
    open_questions    integer NOT NULL,
    archived          boolean NOT NULL,
    created_at        timestamp NOT NULL,
    last_activity_at  timestamp NOT NULL,
    last_event_at     timestamp,
    changed_at        timestamp NOT NULL,
    deleted_at        timestamp
);
CREATE INDEX tasks_user ON tasks (user_id);
CREATE INDEX tasks_host ON tasks (host_id);
CREATE INDEX tasks_deleted ON tasks (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE turns (
    task_id       text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    id            text NOT NULL,
    message_id    text NOT NULL,
    state         text NOT NULL,
    finish_reason text NOT NULL,
    reason        text NOT NULL,
    usage         text,
    announced_at  timestamp NOT NULL,
    finished_at   timestamp,
    PRIMARY KEY (task_id, id)
);
CREATE INDEX turns_unfinished ON turns (task_id, announced_at) WHERE state <> 'closed';

-- messages, events and changes have no foreign key. They are written only under the lock of
-- their task's row, and checking a key would double the cost.
CREATE TABLE messages (
    task_id      text NOT NULL,
    id           text NOT NULL,
    seq          integer NOT NULL,
    rev          integer NOT NULL,
    turn_id      text NOT NULL,
    role         text NOT NULL,
    status       text NOT NULL,
    message      text NOT NULL,
    artifacts    text NOT NULL,
    event_id     text NOT NULL,
    tool_call_id text,
    phase        text NOT NULL,
    body_hash    text NOT NULL,
    created_at   timestamp NOT NULL,
    PRIMARY KEY (task_id, id)
);
CREATE UNIQUE INDEX messages_seq ON messages (task_id, seq);
CREATE INDEX messages_tool ON messages (task_id, tool_call_id) WHERE tool_call_id IS NOT NULL;
CREATE INDEX messages_user ON messages (task_id, turn_id) WHERE role = 'USER';
CREATE INDEX messages_sending ON messages (created_at) WHERE status = 'SENDING';

-- Insert-only.
CREATE TABLE events (
    task_id     text NOT NULL,
    event_id    text NOT NULL,
    epoch       integer,
    seq         integer,
    turn_id     text NOT NULL,
    type        text NOT NULL,
    body        text NOT NULL,
    digest      text NOT NULL,
    late        boolean NOT NULL,
    received_at timestamp NOT NULL,
    PRIMARY KEY (task_id, event_id)
);
CREATE UNIQUE INDEX events_position ON events (task_id, epoch, seq) WHERE epoch IS NOT NULL AND late = FALSE;

CREATE TABLE interactions (
    task_id        text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    id             text NOT NULL,
    turn_id        text NOT NULL,
    state          text NOT NULL,
    kind           text NOT NULL,
    prompt         text NOT NULL,
    tool_call_id   text NOT NULL,
    tool_name      text NOT NULL,
    args           text,
    level          text NOT NULL,
    default_answer text NOT NULL,
    options        text,
    expires_at     text NOT NULL,
    answer         text,
    created_at     timestamp NOT NULL,
    PRIMARY KEY (task_id, id)
);
CREATE INDEX interactions_id ON interactions (id);

CREATE TABLE changes (
    task_id text NOT NULL,
    rev     integer NOT NULL,
    kind    text NOT NULL,
    ref_id  text NOT NULL,
    PRIMARY KEY (task_id, rev)
);

CREATE TABLE audit (
    id       text NOT NULL PRIMARY KEY,
    task_id  text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    what     text NOT NULL,
    event_id text NOT NULL,
    body     text NOT NULL,
    at       timestamp NOT NULL
);
CREATE INDEX audit_task ON audit (task_id);
