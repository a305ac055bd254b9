-- +goose Up

-- The schema of Bellhop 0.1.0. Later changes are files of their own, numbered on from this one.
--
-- Unless a comment says otherwise: ids are chosen by the broker, '' stands for "none", a text with a list or an
-- object is JSON, a hash is SHA-256, and a secret is sealed with the keyset. Ids that many rows refer to are compared
-- byte by byte (COLLATE "C"), as SQLite does: the rules of a language cost time.

-- The installation ----------------------------------------------------------------------------------------------------

CREATE TABLE meta (
    name  text NOT NULL PRIMARY KEY,
    value text NOT NULL
);

-- A known text, sealed at the first start. A wrong keyset cannot unseal it and is noticed at once.
CREATE TABLE keycheck (
    id     text NOT NULL PRIMARY KEY,
    sealed bytea NOT NULL
);

-- The unbroken lives of this database; the newest is the present one.
CREATE TABLE incarnations (
    number      bigint NOT NULL,
    id          text NOT NULL,
    fingerprint text NOT NULL, -- of the copy of the data that wrote the row: a restored copy, or a promoted standby, has another
    reason      text NOT NULL, -- why it began
    since       timestamptz NOT NULL
);
CREATE UNIQUE INDEX incarnations_number ON incarnations (number);

-- What administrators announce to all users (broker/announcements.go). A row stays for a while after its end, so that a
-- repeated request is recognized.
CREATE TABLE announcements (
    id           text COLLATE "C" NOT NULL PRIMARY KEY,
    text         text NOT NULL,
    level        text NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    cancelled_at timestamptz
);
CREATE INDEX announcements_by_end ON announcements (expires_at);

-- Users and what they sign in with ------------------------------------------------------------------------------------

CREATE TABLE users (
    id             text NOT NULL PRIMARY KEY,
    email          text NOT NULL, -- in lower case
    password_hash  text NOT NULL, -- argon2id
    admin          boolean NOT NULL,
    created_at     timestamptz NOT NULL,
    sessions_after timestamptz, -- sessions that began before have ended: the password was changed then
    disabled_at    timestamptz, -- the user cannot sign in
    deleted_at     timestamptz  -- the user cannot sign in, and maintenance erases all their rows
);
CREATE UNIQUE INDEX users_email ON users (email);
CREATE INDEX users_deleted ON users (deleted_at) WHERE deleted_at IS NOT NULL;

-- Sessions of browsers. The columns after expires_at are what their user sees; a session is stored before them.
CREATE TABLE logins (
    token        text NOT NULL PRIMARY KEY, -- hash of the cookie
    data         bytea NOT NULL,
    expires_at   timestamptz NOT NULL,
    id           text NOT NULL DEFAULT '', -- derived from the cookie
    user_id      text NOT NULL DEFAULT '',
    user_agent   text NOT NULL DEFAULT '',
    address      text NOT NULL DEFAULT '',
    began_at     timestamptz,
    last_used_at timestamptz
);
CREATE INDEX logins_expires ON logins (expires_at);
CREATE INDEX logins_user ON logins (user_id);

-- Links that sign in once.
CREATE TABLE login_links (
    hash       bytea NOT NULL PRIMARY KEY,
    user_id    text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at timestamptz NOT NULL
);
CREATE INDEX login_links_user ON login_links (user_id);

CREATE TABLE api_tokens (
    id               text NOT NULL PRIMARY KEY,
    user_id          text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name             text NOT NULL,
    kind             text NOT NULL, -- user or agent
    agent_identifier text NOT NULL, -- of a token for one agent
    hash             bytea NOT NULL,
    expires_at       timestamptz,
    last_used_at     timestamptz,
    created_at       timestamptz NOT NULL,
    scopes           text NOT NULL DEFAULT '[]' -- a list: what it may be used for
);
CREATE UNIQUE INDEX api_tokens_hash ON api_tokens (hash);
CREATE INDEX api_tokens_user ON api_tokens (user_id);

-- The second factor of a user's sign-in by password (broker/auth/factor.go). One that is not confirmed does not count.
CREATE TABLE second_factors (
    user_id      text NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    secret       bytea NOT NULL,
    last_step    bigint NOT NULL, -- of the last code that was used
    created_at   timestamptz NOT NULL,
    confirmed_at timestamptz
);

-- Codes that stand in for the app, each once. A code that was used has no row.
CREATE TABLE recovery_codes (
    user_id text NOT NULL REFERENCES second_factors (user_id) ON DELETE CASCADE,
    hash    bytea NOT NULL,
    PRIMARY KEY (user_id, hash)
);

-- Sign-in attempts by address, and by address and account.
CREATE TABLE sign_in_attempts (
    key     bytea NOT NULL PRIMARY KEY, -- hash of what is counted
    paid_at bigint NOT NULL -- when all counted attempts are paid for, in milliseconds (broker/store/attempt.go)
);
CREATE INDEX sign_in_attempts_paid ON sign_in_attempts (paid_at);

-- Users' own tokens for forges (broker/forgetoken.go).
CREATE TABLE forge_tokens (
    id           text NOT NULL PRIMARY KEY,
    user_id      text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    forge        text NOT NULL, -- host name in the addresses of its remotes
    kind         text NOT NULL,
    token        bytea NOT NULL, -- a secret
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz
);
CREATE UNIQUE INDEX forge_tokens_user ON forge_tokens (user_id, forge);

-- Hosts ---------------------------------------------------------------------------------------------------------------

CREATE TABLE hosts (
    id                text NOT NULL PRIMARY KEY,
    name              text NOT NULL,
    url               text NOT NULL,
    reach             text NOT NULL DEFAULT 'direct', -- how browsers reach it
    password          bytea, -- a secret
    previous_password bytea, -- a secret that is tried too, until previous_until
    previous_until    timestamptz,
    health            text NOT NULL, -- result of the last probe
    checked_at        timestamptz,
    created_at        timestamptz NOT NULL
);
CREATE UNIQUE INDEX hosts_name ON hosts (name);

-- Origins to which browsers were sent for streams. The console may connect to them.
CREATE TABLE stream_origins (
    owner  text NOT NULL, -- id of a host, or of the user whose task has a URL of its own
    origin text NOT NULL,
    PRIMARY KEY (owner, origin)
);

-- Tasks ---------------------------------------------------------------------------------------------------------------

-- Every event changes a task's row. Free space in the pages (fillfactor) lets these updates stay in their page.
CREATE TABLE tasks (
    id      text COLLATE "C" NOT NULL PRIMARY KEY, -- also of its session
    no      bigint NOT NULL GENERATED ALWAYS AS IDENTITY, -- stands for the id in the tables that grow
    user_id text NOT NULL REFERENCES users (id), -- never changes
    title   text NOT NULL,
    words   tsvector, -- of the title (broker/store/words.go); NULL until they are known

    -- What its user chose. '' leaves it to the host.
    mode            text NOT NULL,
    agent           text NOT NULL,
    model           text NOT NULL DEFAULT '', -- the language model
    project         text NOT NULL,
    branch          text NOT NULL DEFAULT '', -- of the project, that the session starts from
    workspace       text NOT NULL DEFAULT '', -- created by name, in which the session works; '' for one of its own
    permission_mode text NOT NULL DEFAULT '', -- how much of the work the user wants to be asked about

    -- Its host.
    host_id           text REFERENCES hosts (id), -- NULL for a task with a URL of its own
    agent_url         text NOT NULL,
    guarded           boolean NOT NULL, -- a user who is no administrator gave agent_url: it is dialled through the outbound guard
    agent_password    bytea, -- a secret, as the two after it
    previous_password bytea, -- tried too, until previous_until
    webhook_secret    bytea NOT NULL,
    previous_until    timestamptz,
    host_events       boolean NOT NULL, -- the host announced that it serves its events,
    host_signs        boolean NOT NULL DEFAULT FALSE, -- that it signs its posts to the webhook,
    host_credentials  boolean NOT NULL DEFAULT FALSE, -- and that it stores for which credential it issues a stream token

    -- Its session.
    agent_status  text NOT NULL,
    reason        text NOT NULL, -- of agent_status
    open_turn     text NOT NULL, -- the newest turn with an event and no finish
    last_turn     text, -- an object: how the newest turn that ended did so
    epoch         bigint NOT NULL, -- with seq, the position of the last event that was stored without a gap
    seq           bigint NOT NULL,
    last_event_at timestamptz,

    -- What is shown of it.
    rev              bigint NOT NULL, -- number of its last change
    read_rev         bigint NOT NULL, -- up to which its user has seen it
    last_seq         bigint NOT NULL, -- position of its newest message
    open_questions   bigint NOT NULL,
    archived         boolean NOT NULL,
    created_at       timestamptz NOT NULL,
    last_activity_at timestamptz NOT NULL,
    changed_at       timestamptz NOT NULL, -- when rev changed
    deleted_at       timestamptz, -- the row stays for another 48 hours

    -- Its queue of messages, whose rows are in queued_messages.
    queued       bigint NOT NULL DEFAULT 0, -- how many there are
    queue_rev    bigint NOT NULL DEFAULT 0, -- number of the queue's last change
    queue_paused text NOT NULL DEFAULT '', -- why nothing is sent
    queue_reason text NOT NULL DEFAULT '', -- of the turn or the refusal that paused it
    queue_now    text NOT NULL DEFAULT '', -- id of the message that its user wants sent at once

    -- Lists are in the order of their times, which every event changes. An index of the times would be written with
    -- every event, so it has them in slots of 64 seconds; within a slot a query sorts.
    active_slot  bigint GENERATED ALWAYS AS (floor(extract(epoch FROM last_activity_at AT TIME ZONE 'UTC') / 64)::bigint) STORED,
    changed_slot bigint GENERATED ALWAYS AS (floor(extract(epoch FROM changed_at AT TIME ZONE 'UTC') / 64)::bigint) STORED,
    -- What lists are filtered by (broker.TaskState). last_turn is JSON as Go writes it: a quote inside of a value has a
    -- backslash before it, so a member is found as text.
    state text GENERATED ALWAYS AS (CASE
        WHEN open_questions > 0 THEN 'waiting'
        WHEN agent_status = 'busy' OR open_turn <> '' AND reason <> 'waiting' THEN 'working'
        WHEN last_turn IS NULL THEN ''
        WHEN strpos(last_turn, '"reason":"host-lost"') > 0 OR strpos(last_turn, '"reason":"host-restarted"') > 0
            OR strpos(last_turn, '"reason":"agent-exited"') > 0 OR strpos(last_turn, '"reason":"agent-stopped"') > 0
            OR strpos(last_turn, '"reason":"not-started"') > 0 THEN 'failed'
        WHEN strpos(last_turn, '"reason":"aborted"') > 0 OR strpos(last_turn, '"reason":"agent-restarted"') > 0
            OR strpos(last_turn, '"finishReason":"stop"') > 0 THEN ''
        WHEN strpos(last_turn, '"finishReason":"error"') > 0 OR strpos(last_turn, '"finishReason":"content-filter"') > 0
            OR strpos(last_turn, '"finishReason":"other"') > 0 OR strpos(last_turn, '"reason":"no-finish"') > 0 THEN 'failed'
        ELSE ''
    END) STORED
) WITH (fillfactor = 60);
CREATE UNIQUE INDEX tasks_no ON tasks (no);
CREATE INDEX tasks_owned ON tasks (user_id, id) WHERE deleted_at IS NULL;
CREATE INDEX tasks_active ON tasks (user_id, archived, active_slot) WHERE deleted_at IS NULL;
CREATE INDEX tasks_state ON tasks (user_id, archived, state, active_slot) WHERE deleted_at IS NULL AND state <> '';
CREATE INDEX tasks_changed ON tasks (user_id, changed_slot);
CREATE INDEX tasks_host ON tasks (host_id);
CREATE INDEX tasks_archived ON tasks (no) WHERE archived = TRUE;
CREATE INDEX tasks_deleted ON tasks (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX tasks_queue_withheld ON tasks (user_id) WHERE queue_paused = 'user-disabled';
CREATE INDEX tasks_words ON tasks USING gin (words) WHERE words IS NOT NULL;
CREATE INDEX tasks_unsearched ON tasks (no) WHERE words IS NULL;

-- A turn is one message of the user and the agent's work on it.
CREATE TABLE turns (
    task_id       text COLLATE "C" NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    id            text COLLATE "C" NOT NULL,
    message_id    text NOT NULL, -- of the user; '' for a turn that the host started
    state         text NOT NULL, -- announced, open or closed
    finish_reason text NOT NULL,
    reason        text NOT NULL, -- more about finish_reason
    usage         text, -- an object
    announced_at  timestamptz NOT NULL,
    finished_at   timestamptz,
    PRIMARY KEY (task_id, id)
);
CREATE INDEX turns_unfinished ON turns (task_id, announced_at) WHERE state <> 'closed';

-- One row is an event, a message, or an event with the message that it left. Without an event, event_id and body are
-- NULL; without a message, id and seq are. There is no foreign key: rows are written only under the lock of their
-- task's row, and checking a key would double the cost.
CREATE TABLE log (
    task_no      bigint NOT NULL,
    created_at   timestamptz NOT NULL,
    epoch        bigint, -- with event_seq, the event's position in the journal of its host; NULL if it has none
    event_seq    bigint,
    seq          bigint, -- position of the message in the display
    rev          bigint, -- of the task, at the message's last change
    late         boolean NOT NULL, -- sent after its epoch had ended, and stored without effects
    type         text COLLATE "C" NOT NULL, -- of the event
    event_id     text COLLATE "C",
    turn_id      text COLLATE "C" NOT NULL,
    id           text COLLATE "C", -- of the message
    role         text COLLATE "C",
    status       text COLLATE "C",
    tool_call_id text COLLATE "C",
    phase        text COLLATE "C", -- the halves of a tool use that have arrived: call, result or both
    body_hash    text COLLATE "C", -- of a user's message, or diff: and that of a diff
    body         text, -- the event as its host sent it
    message      text, -- NULL if the event is a text: that is in its body
    artifacts    text, -- a list
    words        tsvector -- of the message (broker/store/words.go); NULL until they are known
);
CREATE UNIQUE INDEX log_event ON log (task_no, event_id) WHERE event_id IS NOT NULL;
CREATE UNIQUE INDEX log_position ON log (task_no, epoch, event_seq) WHERE epoch IS NOT NULL AND late = FALSE;
CREATE UNIQUE INDEX log_seq ON log (task_no, seq) WHERE seq IS NOT NULL;
CREATE UNIQUE INDEX log_user ON log (task_no, id) WHERE role = 'USER';
CREATE INDEX log_turn ON log (task_no, turn_id) WHERE role = 'USER';
CREATE INDEX log_tool ON log (task_no, tool_call_id) WHERE tool_call_id IS NOT NULL;
CREATE INDEX log_running ON log (task_no, turn_id) WHERE phase = 'call';
CREATE INDEX log_diffs ON log (task_no, seq) WHERE substr(body_hash, 1, 5) = 'diff:';
CREATE INDEX log_sending ON log (created_at) WHERE status = 'SENDING';
CREATE INDEX log_words ON log USING gin (words) WHERE words IS NOT NULL;
CREATE INDEX log_unsearched ON log (task_no, seq) WHERE words IS NULL AND seq IS NOT NULL;

-- The log as two tables, for people and checkers. The broker reads the log.
CREATE VIEW events AS
SELECT t.id AS task_id, l.event_id, l.epoch, l.event_seq AS seq, l.turn_id, l.type, l.body, l.late, l.created_at AS received_at
FROM log l JOIN tasks t ON t.no = l.task_no WHERE l.event_id IS NOT NULL;

CREATE VIEW messages AS
SELECT t.id AS task_id, l.id, l.seq, l.rev, l.turn_id, l.role, l.status,
    CASE WHEN l.type = 'text' THEN l.body::json ->> 'text' ELSE COALESCE(l.message, '') END AS message,
    COALESCE(l.artifacts, '[]') AS artifacts, COALESCE(l.event_id, '') AS event_id, l.tool_call_id,
    COALESCE(l.phase, '') AS phase, l.created_at
FROM log l JOIN tasks t ON t.no = l.task_no WHERE l.seq IS NOT NULL;

-- Up to which position the bodies of a task's events are removed (broker/store/retention.go).
CREATE TABLE event_prunings (
    task_no bigint NOT NULL PRIMARY KEY,
    epoch   bigint NOT NULL,
    seq     bigint NOT NULL
);

-- The changes rev to rev + n - 1 of a task, which its feed repeats.
CREATE TABLE change_ranges (
    task_no bigint NOT NULL,
    rev     bigint NOT NULL,
    n       bigint NOT NULL,
    kind    text COLLATE "C" NOT NULL, -- message, interaction or task
    seq     bigint NOT NULL, -- of the first of n messages with consecutive seqs; else 0
    ref_id  text COLLATE "C", -- of the interaction
    PRIMARY KEY (task_no, rev)
);

-- Questions of agents.
CREATE TABLE interactions (
    task_id        text COLLATE "C" NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    id             text COLLATE "C" NOT NULL, -- chosen by the host
    user_id        text, -- of the task: a trigger writes it, so that a list of one state is a page of an index
    turn_id        text NOT NULL,
    state          text NOT NULL,
    kind           text NOT NULL,
    prompt         text NOT NULL,
    tool_call_id   text NOT NULL,
    tool_name      text NOT NULL,
    args           text, -- an object
    level          text NOT NULL,
    warning        text NOT NULL DEFAULT '', -- the danger of the call that the question names
    default_answer text NOT NULL,
    options        text, -- a list
    expires_at     text NOT NULL, -- as the host sent it
    answer         text, -- an object
    created_at     timestamptz NOT NULL,
    PRIMARY KEY (task_id, id)
);
CREATE INDEX interactions_id ON interactions (id);
CREATE INDEX interactions_listed ON interactions (user_id, state, created_at, id);
CREATE INDEX interactions_turn ON interactions (task_id, turn_id);
CREATE INDEX interactions_open ON interactions (task_id) WHERE state = 'open';
-- +goose StatementBegin
CREATE FUNCTION interactions_find_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT user_id INTO NEW.user_id FROM tasks WHERE id = NEW.task_id;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER interactions_user BEFORE INSERT ON interactions FOR EACH ROW EXECUTE FUNCTION interactions_find_user();

-- The messages that the broker sends when the agent is idle (broker/queue.go).
CREATE TABLE queued_messages (
    task_id     text COLLATE "C" NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    id          text COLLATE "C" NOT NULL,
    position    bigint NOT NULL, -- the lowest is next
    message     text NOT NULL,
    artifacts   text NOT NULL, -- a list
    files       text NOT NULL, -- a list: the attachments without their data
    attachments text NOT NULL, -- a list
    bytes       bigint NOT NULL, -- of its content
    hash        text NOT NULL, -- of its content when it was added
    state       text NOT NULL, -- waiting, sending or sent
    turn        bigint NOT NULL, -- how many turns its host has refused to start
    turn_id     text NOT NULL, -- of its last attempt
    place       text NOT NULL, -- host or URL that it was sent to
    attempts    bigint NOT NULL, -- since the last success
    failure     text NOT NULL, -- of the last attempt
    due_at      timestamptz NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (task_id, id)
);
CREATE INDEX queued_messages_due ON queued_messages (due_at);

-- Events of hosts that were refused.
CREATE TABLE audit (
    id       text NOT NULL PRIMARY KEY,
    task_id  text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    what     text NOT NULL, -- code of the refusal
    event_id text NOT NULL,
    body     text NOT NULL,
    at       timestamptz NOT NULL
);
CREATE INDEX audit_order ON audit (task_id, id);

-- The ends of deleted tasks' sessions that their hosts have not confirmed (broker/sessionends.go). A task with a row
-- here keeps its own row, which names the host.
CREATE TABLE session_ends (
    task_id  text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    since    timestamptz NOT NULL,
    due_at   timestamptz NOT NULL,
    attempts bigint NOT NULL,
    failure  text NOT NULL -- of the last attempt
);
CREATE INDEX session_ends_due ON session_ends (due_at);

-- What hosts have to end, and have not confirmed (broker/revocations.go): all stream tokens and streams of a task's
-- session, because its user was disabled, or in all sessions those of a sign-in or an API token that has ended.
CREATE TABLE revocations (
    task_id    text COLLATE "C" NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    credential text COLLATE "C" NOT NULL, -- '' for all of the task's session
    host_id    text REFERENCES hosts (id) ON DELETE CASCADE, -- with a credential, as a deleted task has lost its host
    due_at     timestamptz NOT NULL,
    attempts   bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (task_id, credential)
);
CREATE INDEX revocations_due ON revocations (due_at);
CREATE INDEX revocations_host ON revocations (host_id);

-- Links to transcripts of tasks (broker/share.go). A row is removed when its link has expired.
CREATE TABLE shares (
    id           text NOT NULL PRIMARY KEY,
    user_id      text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    task_id      text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    hash         bytea NOT NULL, -- of the link's token
    title        text NOT NULL, -- of the task when it was shared, as rev
    last_seq     bigint NOT NULL, -- position of the last message that readers see
    rev          bigint NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    last_used_at timestamptz
);
CREATE UNIQUE INDEX shares_hash ON shares (hash);
CREATE INDEX shares_user ON shares (user_id, created_at);
CREATE INDEX shares_task ON shares (task_id);
CREATE INDEX shares_expires ON shares (expires_at);

-- Prompts with variables (broker/template.go).
CREATE TABLE task_templates (
    id              text NOT NULL PRIMARY KEY,
    owner_id        text REFERENCES users (id) ON DELETE CASCADE, -- NULL for a template of all users
    name            text NOT NULL,
    prompt          text NOT NULL,
    variables       text NOT NULL, -- a list
    agent           text NOT NULL,
    model           text NOT NULL,
    project         text NOT NULL,
    host_id         text NOT NULL,
    branch          text NOT NULL,
    permission_mode text NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL
);
CREATE UNIQUE INDEX task_templates_own ON task_templates (owner_id, name);
CREATE UNIQUE INDEX task_templates_shared ON task_templates (name) WHERE owner_id IS NULL;

-- The audit log -------------------------------------------------------------------------------------------------------

-- Who did what (broker/audit.go). Entries are only added; retention removes the oldest ones.
CREATE TABLE audit_log (
    no           bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    at           timestamptz NOT NULL,
    action       text COLLATE "C" NOT NULL,
    actor_kind   text COLLATE "C" NOT NULL,
    actor_id     text COLLATE "C" NOT NULL,
    token_id     text COLLATE "C" NOT NULL, -- the API token that the actor used
    address      text COLLATE "C" NOT NULL, -- of the actor's client
    via          text COLLATE "C" NOT NULL, -- how a person at a host was known
    subject_kind text COLLATE "C" NOT NULL,
    subject_id   text COLLATE "C" NOT NULL,
    subject_name text COLLATE "C" NOT NULL,
    detail       text NOT NULL -- an object
);
CREATE UNIQUE INDEX audit_log_no ON audit_log (no);
CREATE INDEX audit_log_at ON audit_log (at);
CREATE INDEX audit_log_actor ON audit_log (actor_id, no);
CREATE INDEX audit_log_subject ON audit_log (subject_id, no);
CREATE INDEX audit_log_name ON audit_log (subject_name, no);
-- +goose StatementBegin
CREATE FUNCTION audit_log_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit_log is append-only';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_refuse();

-- Webhooks and notifications ------------------------------------------------------------------------------------------

-- Where deliveries go: webhooks of users and of agents, and browsers that get notifications.
CREATE TABLE webhook_endpoints (
    id              text NOT NULL PRIMARY KEY,
    user_id         text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind            text NOT NULL,
    url             text NOT NULL,
    host            text NOT NULL, -- of url, with its port
    secret          bytea NOT NULL,
    previous_secret bytea, -- signs too, until previous_until
    previous_until  timestamptz,
    events          text NOT NULL, -- a list
    format          text NOT NULL DEFAULT '', -- of a user's webhook: the service whose format it gets
    credential      text NOT NULL DEFAULT '', -- of a browser: the sign-in that ends it
    label           text NOT NULL DEFAULT '', -- of a browser: what it says about itself
    succeeded_at    timestamptz, -- of a browser: its last delivery
    disabled_at     timestamptz,
    disabled_reason text NOT NULL,
    created_at      timestamptz NOT NULL
);
CREATE INDEX webhook_endpoints_user ON webhook_endpoints (user_id, kind);
CREATE INDEX webhook_endpoints_credential ON webhook_endpoints (credential) WHERE credential <> '';
CREATE INDEX webhook_endpoints_ended ON webhook_endpoints (id) WHERE kind = 'browser' AND disabled_at IS NOT NULL;

-- Whatever ends a sign-in ends its browser's notifications in the same transaction.
-- +goose StatementBegin
CREATE FUNCTION logins_end_notifications() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE webhook_endpoints SET disabled_at = now(), disabled_reason = 'signed_out'
    WHERE credential = OLD.id AND credential <> '' AND disabled_at IS NULL;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER logins_end_notifications AFTER DELETE ON logins
    FOR EACH ROW WHEN (OLD.id <> '') EXECUTE FUNCTION logins_end_notifications();

CREATE TABLE deliveries (
    id           text NOT NULL PRIMARY KEY,
    endpoint_id  text NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    user_id      text NOT NULL,
    kind         text NOT NULL, -- of the endpoint, as host
    host         text NOT NULL,
    message_id   text NOT NULL, -- the same in each attempt
    event        text NOT NULL,
    order_key    text NOT NULL, -- of those that keep their order
    position     bigint NOT NULL, -- in that order
    body         bytea, -- NULL before the first attempt
    state        text NOT NULL,
    reason       text NOT NULL, -- of the state
    attempts     bigint NOT NULL,
    attempted_at timestamptz,
    lease        text NOT NULL, -- name of the claim, while a worker holds one
    next_at      timestamptz NOT NULL, -- when it is due; while a worker holds it, the end of the lease
    expires_at   timestamptz NOT NULL,
    created_at   timestamptz NOT NULL,
    finished_at  timestamptz
);
CREATE UNIQUE INDEX deliveries_message ON deliveries (endpoint_id, message_id);
CREATE INDEX deliveries_user ON deliveries (user_id, id);
CREATE INDEX deliveries_due ON deliveries (next_at) WHERE state = 'queued';
CREATE INDEX deliveries_host ON deliveries (host, next_at) WHERE state = 'queued';
CREATE INDEX deliveries_order ON deliveries (endpoint_id, order_key, position) WHERE finished_at IS NULL;
CREATE INDEX deliveries_held ON deliveries (expires_at) WHERE state = 'held';
CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE delivery_attempts (
    delivery_id text NOT NULL REFERENCES deliveries (id) ON DELETE CASCADE,
    number      bigint NOT NULL,
    at          timestamptz NOT NULL,
    duration_ms bigint NOT NULL,
    status      bigint NOT NULL, -- of HTTP; 0 if no response arrived
    error       text NOT NULL,
    answer      bytea, -- the beginning of the response
    PRIMARY KEY (delivery_id, number)
);

-- Notebooks -----------------------------------------------------------------------------------------------------------

-- Connections of editors' agents. The row is the only lock for its notebook, sources and messages.
CREATE TABLE agent_sessions (
    id               text NOT NULL PRIMARY KEY,
    user_id          text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    agent_name       text NOT NULL,
    agent_identifier text NOT NULL, -- chosen by the agent
    agent_icon       text NOT NULL,
    disconnected     boolean NOT NULL,
    webhook_url      text NOT NULL,
    endpoint_id      text NOT NULL, -- of the webhook
    metadata         text NOT NULL, -- an object
    rev              bigint NOT NULL, -- number of the last change
    event            text NOT NULL, -- the last change, for the user's feed
    event_source     text NOT NULL, -- the source that it was of
    changed_at       timestamptz NOT NULL,
    last_activity    timestamptz NOT NULL,
    created_at       timestamptz NOT NULL
);
CREATE UNIQUE INDEX agent_sessions_identifier ON agent_sessions (user_id, agent_identifier);

CREATE TABLE notebooks (
    id               text NOT NULL PRIMARY KEY,
    user_id          text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    agent_session_id text NOT NULL REFERENCES agent_sessions (id) ON DELETE CASCADE,
    title            text NOT NULL,
    description      text NOT NULL,
    created_at       timestamptz NOT NULL
);
CREATE UNIQUE INDEX notebooks_session ON notebooks (agent_session_id);
CREATE INDEX notebooks_user ON notebooks (user_id);

-- Pieces of code. Each has one conversation.
CREATE TABLE sources (
    id               text NOT NULL PRIMARY KEY,
    user_id          text NOT NULL,
    notebook_id      text NOT NULL REFERENCES notebooks (id) ON DELETE CASCADE,
    agent_session_id text NOT NULL REFERENCES agent_sessions (id) ON DELETE CASCADE,
    title            text NOT NULL,
    language         text NOT NULL,
    context          text NOT NULL, -- why and where the agent wrote it
    metadata         text NOT NULL, -- an object
    version          bigint NOT NULL, -- number of the newest version
    last_seq         bigint NOT NULL, -- number of the newest message
    last_message_at  timestamptz,
    created_at       timestamptz NOT NULL
);
CREATE INDEX sources_notebook ON sources (notebook_id);
CREATE INDEX sources_session ON sources (agent_session_id);

-- Insert-only, except for verification, which may be set later.
CREATE TABLE source_versions (
    source_id    text NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    version      bigint NOT NULL,
    code         text NOT NULL,
    size         bigint NOT NULL, -- of code, in bytes
    diff         text NOT NULL, -- against the version before
    description  text NOT NULL,
    author       text NOT NULL, -- identifier of the agent
    message_id   text NOT NULL, -- the message that brought it; '' if the agent saved it
    verification text, -- an object
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (source_id, version)
);
CREATE INDEX source_versions_unverified ON source_versions (created_at) WHERE verification IS NULL;

CREATE TABLE source_messages (
    id           text NOT NULL PRIMARY KEY,
    source_id    text NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    seq          bigint NOT NULL, -- from 1, without gaps
    role         text NOT NULL, -- user or agent
    content      text NOT NULL,
    attachments  text NOT NULL, -- a list
    version      bigint NOT NULL, -- that it brought; 0 = none
    reply_to     text NOT NULL, -- of an agent's message: the user's message
    state        text NOT NULL,
    failure      text NOT NULL, -- why it did not reach the agent, or why the agent refused it
    delivered_at timestamptz,
    read_at      timestamptz,
    seen_at      timestamptz, -- when the user's page showed the failure
    created_at   timestamptz NOT NULL
);
CREATE UNIQUE INDEX source_messages_seq ON source_messages (source_id, seq);
CREATE UNIQUE INDEX source_messages_reply ON source_messages (reply_to) WHERE reply_to <> '';
CREATE INDEX source_messages_open ON source_messages (source_id, state) WHERE role = 'user' AND state <> 'answered';
CREATE INDEX source_messages_unread ON source_messages (source_id)
    WHERE (role = 'agent' AND read_at IS NULL) OR (failure <> '' AND seen_at IS NULL);
