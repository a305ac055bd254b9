-- +goose Up

-- The row of an agent session is the only lock for its notebook, sources and messages.
CREATE TABLE agent_sessions (
    id               text NOT NULL PRIMARY KEY,
    user_id          text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    agent_name       text NOT NULL,
    agent_identifier text NOT NULL,
    agent_icon       text NOT NULL,
    disconnected     boolean NOT NULL,
    webhook_url      text NOT NULL,
    endpoint_id      text NOT NULL,
    metadata         text NOT NULL,
    rev              integer NOT NULL,
    event            text NOT NULL,
    event_source     text NOT NULL,
    changed_at       timestamp NOT NULL,
    last_activity    timestamp NOT NULL,
    created_at       timestamp NOT NULL
);
CREATE UNIQUE INDEX agent_sessions_identifier ON agent_sessions (user_id, agent_identifier);

CREATE TABLE notebooks (
    id               text NOT NULL PRIMARY KEY,
    user_id          text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    agent_session_id text NOT NULL REFERENCES agent_sessions (id) ON DELETE CASCADE,
    title            text NOT NULL,
    description      text NOT NULL,
    created_at       timestamp NOT NULL
);
CREATE UNIQUE INDEX notebooks_session ON notebooks (agent_session_id);
CREATE INDEX notebooks_user ON notebooks (user_id);

-- Each source has one conversation, so last_seq and last_message_at are columns of the source.
CREATE TABLE sources (
    id               text NOT NULL PRIMARY KEY,
    user_id          text NOT NULL,
    notebook_id      text NOT NULL REFERENCES notebooks (id) ON DELETE CASCADE,
    agent_session_id text NOT NULL REFERENCES agent_sessions (id) ON DELETE CASCADE,
    title            text NOT NULL,
    language         text NOT NULL,
    context          text NOT NULL,
    metadata         text NOT NULL,
    version          integer NOT NULL,
    last_seq         integer NOT NULL,
    last_message_at  timestamp,
    created_at       timestamp NOT NULL
);
CREATE INDEX sources_notebook ON sources (notebook_id);
CREATE INDEX sources_session ON sources (agent_session_id);

-- Insert-only, except for verification, which may be set later.
CREATE TABLE source_versions (
    source_id    text NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    version      integer NOT NULL,
    code         text NOT NULL,
    size         integer NOT NULL,
    diff         text NOT NULL,
    description  text NOT NULL,
    author       text NOT NULL,
    message_id   text NOT NULL,
    verification text,
    created_at   timestamp NOT NULL,
    PRIMARY KEY (source_id, version)
);
CREATE INDEX source_versions_unverified ON source_versions (created_at) WHERE verification IS NULL;

CREATE TABLE source_messages (
    id           text NOT NULL PRIMARY KEY,
    source_id    text NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    seq          integer NOT NULL,
    role         text NOT NULL,
    content      text NOT NULL,
    attachments  text NOT NULL,
    version      integer NOT NULL,
    reply_to     text NOT NULL,
    state        text NOT NULL,
    failure      text NOT NULL,
    delivered_at timestamp,
    read_at      timestamp,
    created_at   timestamp NOT NULL
);
CREATE UNIQUE INDEX source_messages_seq ON source_messages (source_id, seq);
CREATE UNIQUE INDEX source_messages_reply ON source_messages (reply_to) WHERE reply_to <> '';
CREATE INDEX source_messages_open ON source_messages (source_id, state) WHERE role = 'user' AND state <> 'answered';
