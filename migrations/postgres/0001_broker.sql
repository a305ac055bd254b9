-- +goose Up

CREATE TABLE meta (
    name  text NOT NULL PRIMARY KEY,
    value text NOT NULL
);

-- A known text, sealed at the first start. A wrong keyset cannot unseal it and is noticed at
-- once.
CREATE TABLE keycheck (
    id     text NOT NULL PRIMARY KEY,
    sealed bytea NOT NULL
);

CREATE TABLE users (
    id            text NOT NULL PRIMARY KEY,
    email         text NOT NULL,
    password_hash text NOT NULL,
    admin         boolean NOT NULL,
    created_at    timestamptz NOT NULL
);
CREATE UNIQUE INDEX users_email ON users (email);

CREATE TABLE api_tokens (
    id               text NOT NULL PRIMARY KEY,
    user_id          text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name             text NOT NULL,
    kind             text NOT NULL,
    agent_identifier text NOT NULL,
    hash             bytea NOT NULL,
    expires_at       timestamptz,
    last_used_at     timestamptz,
    created_at       timestamptz NOT NULL
);
CREATE UNIQUE INDEX api_tokens_hash ON api_tokens (hash);
CREATE INDEX api_tokens_user ON api_tokens (user_id);

CREATE TABLE logins (
    token      text NOT NULL PRIMARY KEY,
    data       bytea NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX logins_expires ON logins (expires_at);

CREATE TABLE login_links (
    hash       bytea NOT NULL PRIMARY KEY,
    user_id    text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at timestamptz NOT NULL
);
CREATE INDEX login_links_user ON login_links (user_id);

CREATE TABLE hosts (
    id                text NOT NULL PRIMARY KEY,
    name              text NOT NULL,
    url               text NOT NULL,
    password          bytea,
    previous_password bytea,
    previous_until    timestamptz,
    health            text NOT NULL,
    checked_at        timestamptz,
    created_at        timestamptz NOT NULL
);
CREATE UNIQUE INDEX hosts_name ON hosts (name);

-- The times have no index, because every event changes them and a user has few enough tasks to
-- sort. Free space in the pages (fillfactor) lets these updates stay in their page.
CREATE TABLE tasks (
    id                text NOT NULL PRIMARY KEY,
    user_id           text NOT NULL REFERENCES users (id),
    title             text NOT NULL,
    mode              text NOT NULL,
    agent             text NOT NULL,
    project           text NOT NULL,
    host_id           text REFERENCES hosts (id),
    agent_url         text NOT NULL,
    agent_password    bytea,
    previous_password bytea,
    previous_until    timestamptz,
    guarded           boolean NOT NULL,
    webhook_secret    bytea NOT NULL,
    agent_status      text NOT NULL,
    reason            text NOT NULL,
    open_turn         text NOT NULL,
    last_turn         text,
    epoch             bigint NOT NULL,
    seq               bigint NOT NULL,
    host_events       boolean NOT NULL,
    rev               bigint NOT NULL,
    read_rev          bigint NOT NULL,
    last_seq          bigint NOT NULL,
    open_questions    bigint NOT NULL,
    archived          boolean NOT NULL,
    created_at        timestamptz NOT NULL,
    last_activity_at  timestamptz NOT NULL,
    last_event_at     timestamptz,
    changed_at        timestamptz NOT NULL,
    deleted_at        timestamptz
) WITH (fillfactor = 60);
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
    announced_at  timestamptz NOT NULL,
    finished_at   timestamptz,
    PRIMARY KEY (task_id, id)
);
CREATE INDEX turns_unfinished ON turns (task_id, announced_at) WHERE state <> 'closed';

-- messages, events and changes have no foreign key. They are written only under the lock of
-- their task's row, and checking a key would double the cost.
CREATE TABLE messages (
    task_id      text NOT NULL,
    id           text NOT NULL,
    seq          bigint NOT NULL,
    rev          bigint NOT NULL,
    turn_id      text NOT NULL,
    role         text NOT NULL,
    status       text NOT NULL,
    message      text NOT NULL,
    artifacts    text NOT NULL,
    event_id     text NOT NULL,
    tool_call_id text,
    phase        text NOT NULL,
    body_hash    text NOT NULL,
    created_at   timestamptz NOT NULL,
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
    epoch       bigint,
    seq         bigint,
    turn_id     text NOT NULL,
    type        text NOT NULL,
    body        text NOT NULL,
    digest      text NOT NULL,
    late        boolean NOT NULL,
    received_at timestamptz NOT NULL,
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
    created_at     timestamptz NOT NULL,
    PRIMARY KEY (task_id, id)
);
CREATE INDEX interactions_id ON interactions (id);

CREATE TABLE changes (
    task_id text NOT NULL,
    rev     bigint NOT NULL,
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
    at       timestamptz NOT NULL
);
CREATE INDEX audit_task ON audit (task_id);
