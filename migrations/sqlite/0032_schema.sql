-- +goose Up

-- The schema of Bellhop 0.1.0. Later changes are files of their own, numbered on from this one.
--
-- Unless a comment says otherwise: ids are chosen by the broker, '' stands for "none", a text with a list or an
-- object is JSON, a hash is SHA-256, and a secret is sealed with the keyset.

-- The installation ----------------------------------------------------------------------------------------------------

CREATE TABLE meta (
    name  text NOT NULL PRIMARY KEY,
    value text NOT NULL
);

-- A known text, sealed at the first start. A wrong keyset cannot unseal it and is noticed at once.
CREATE TABLE keycheck (
    id     text NOT NULL PRIMARY KEY,
    sealed blob NOT NULL
);

-- The unbroken lives of this database; the newest is the present one.
CREATE TABLE incarnations (
    number      integer NOT NULL,
    id          text NOT NULL,
    fingerprint text NOT NULL, -- of the copy of the data that wrote the row: a restored copy, or a promoted standby, has another
    reason      text NOT NULL, -- why it began
    since       timestamp NOT NULL
);
CREATE UNIQUE INDEX incarnations_number ON incarnations (number);

-- What administrators announce to all users (broker/announcements.go). A row stays for a while after its end, so that a
-- repeated request is recognized.
CREATE TABLE announcements (
    id           text NOT NULL PRIMARY KEY,
    text         text NOT NULL,
    level        text NOT NULL,
    created_at   timestamp NOT NULL,
    expires_at   timestamp NOT NULL,
    cancelled_at timestamp
);
CREATE INDEX announcements_by_end ON announcements (expires_at);

-- Users and what they sign in with ------------------------------------------------------------------------------------

CREATE TABLE users (
    id             text NOT NULL PRIMARY KEY,
    email          text NOT NULL, -- in lower case
    password_hash  text NOT NULL, -- argon2id
    admin          boolean NOT NULL,
    created_at     timestamp NOT NULL,
    sessions_after timestamp, -- sessions that began before have ended: the password was changed then
    disabled_at    timestamp, -- the user cannot sign in
    deleted_at     timestamp  -- the user cannot sign in, and maintenance erases all their rows
);
CREATE UNIQUE INDEX users_email ON users (email);
CREATE INDEX users_deleted ON users (deleted_at) WHERE deleted_at IS NOT NULL;

-- Sessions of browsers. The columns after expires_at are what their user sees; a session is stored before them.
CREATE TABLE logins (
    token        text NOT NULL PRIMARY KEY, -- hash of the cookie
    data         blob NOT NULL,
    expires_at   timestamp NOT NULL,
    id           text NOT NULL DEFAULT '', -- derived from the cookie
    user_id      text NOT NULL DEFAULT '',
    user_agent   text NOT NULL DEFAULT '',
    address      text NOT NULL DEFAULT '',
    began_at     timestamp,
    last_used_at timestamp
);
CREATE INDEX logins_expires ON logins (expires_at);
CREATE INDEX logins_user ON logins (user_id);

-- Links that sign in once.
CREATE TABLE login_links (
    hash       blob NOT NULL PRIMARY KEY,
    user_id    text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at timestamp NOT NULL
);
CREATE INDEX login_links_user ON login_links (user_id);

CREATE TABLE api_tokens (
    id               text NOT NULL PRIMARY KEY,
    user_id          text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name             text NOT NULL,
    kind             text NOT NULL, -- user or agent
    agent_identifier text NOT NULL, -- of a token for one agent
    hash             blob NOT NULL,
    expires_at       timestamp,
    last_used_at     timestamp,
    created_at       timestamp NOT NULL,
    scopes           text NOT NULL DEFAULT '[]' -- a list: what it may be used for
);
CREATE UNIQUE INDEX api_tokens_hash ON api_tokens (hash);
CREATE INDEX api_tokens_user ON api_tokens (user_id);

-- The second factor of a user's sign-in by password (broker/auth/factor.go). One that is not confirmed does not count.
CREATE TABLE second_factors (
    user_id      text NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    secret       blob NOT NULL,
    last_step    integer NOT NULL, -- of the last code that was used
    created_at   timestamp NOT NULL,
    confirmed_at timestamp
);

-- Codes that stand in for the app, each once. A code that was used has no row.
CREATE TABLE recovery_codes (
    user_id text NOT NULL REFERENCES second_factors (user_id) ON DELETE CASCADE,
    hash    blob NOT NULL,
    PRIMARY KEY (user_id, hash)
);

-- Sign-in attempts by address, and by address and account.
CREATE TABLE sign_in_attempts (
    key     blob NOT NULL PRIMARY KEY, -- hash of what is counted
    paid_at integer NOT NULL -- when all counted attempts are paid for, in milliseconds (broker/store/attempt.go)
);
CREATE INDEX sign_in_attempts_paid ON sign_in_attempts (paid_at);

-- Users' own tokens for forges (broker/forgetoken.go).
CREATE TABLE forge_tokens (
    id           text NOT NULL PRIMARY KEY,
    user_id      text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    forge        text NOT NULL, -- host name in the addresses of its remotes
    kind         text NOT NULL,
    token        blob NOT NULL, -- a secret
    created_at   timestamp NOT NULL,
    last_used_at timestamp
);
CREATE UNIQUE INDEX forge_tokens_user ON forge_tokens (user_id, forge);

-- Hosts ---------------------------------------------------------------------------------------------------------------

CREATE TABLE hosts (
    id                text NOT NULL PRIMARY KEY,
    name              text NOT NULL,
    url               text NOT NULL,
    reach             text NOT NULL DEFAULT 'direct', -- how browsers reach it
    password          blob, -- a secret
    previous_password blob, -- a secret that is tried too, until previous_until
    previous_until    timestamp,
    health            text NOT NULL, -- result of the last probe
    checked_at        timestamp,
    created_at        timestamp NOT NULL
);
CREATE UNIQUE INDEX hosts_name ON hosts (name);

-- Origins to which browsers were sent for streams. The console may connect to them.
CREATE TABLE stream_origins (
    owner  text NOT NULL, -- id of a host, or of the user whose task has a URL of its own
    origin text NOT NULL,
    PRIMARY KEY (owner, origin)
);

-- Tasks ---------------------------------------------------------------------------------------------------------------

CREATE TABLE tasks (
    id      text NOT NULL PRIMARY KEY, -- also of its session
    no      integer NOT NULL DEFAULT 0, -- stands for the id in the tables that grow; a trigger assigns it
    user_id text NOT NULL REFERENCES users (id), -- never changes
    title   text NOT NULL,
    words   text, -- of the title (broker/store/words.go); NULL until they are known

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
    agent_password    blob, -- a secret, as the two after it
    previous_password blob, -- tried too, until previous_until
    webhook_secret    blob NOT NULL,
    previous_until    timestamp,
    host_events       boolean NOT NULL, -- the host announced that it serves its events,
    host_signs        boolean NOT NULL DEFAULT FALSE, -- that it signs its posts to the webhook,
    host_credentials  boolean NOT NULL DEFAULT FALSE, -- and that it stores for which credential it issues a stream token

    -- Its session.
    agent_status  text NOT NULL,
    reason        text NOT NULL, -- of agent_status
    open_turn     text NOT NULL, -- the newest turn with an event and no finish
    last_turn     text, -- an object: how the newest turn that ended did so
    epoch         integer NOT NULL, -- with seq, the position of the last event that was stored without a gap
    seq           integer NOT NULL,
    last_event_at timestamp,

    -- What is shown of it.
    rev              integer NOT NULL, -- number of its last change
    read_rev         integer NOT NULL, -- up to which its user has seen it
    last_seq         integer NOT NULL, -- position of its newest message
    open_questions   integer NOT NULL,
    archived         boolean NOT NULL,
    created_at       timestamp NOT NULL,
    last_activity_at timestamp NOT NULL,
    changed_at       timestamp NOT NULL, -- when rev changed
    deleted_at       timestamp, -- the row stays for another 48 hours

    -- Its queue of messages, whose rows are in queued_messages.
    queued       integer NOT NULL DEFAULT 0, -- how many there are
    queue_rev    integer NOT NULL DEFAULT 0, -- number of the queue's last change
    queue_paused text NOT NULL DEFAULT '', -- why nothing is sent
    queue_reason text NOT NULL DEFAULT '', -- of the turn or the refusal that paused it
    queue_now    text NOT NULL DEFAULT '', -- id of the message that its user wants sent at once

    -- What lists are filtered by (broker.TaskState). last_turn is JSON as Go writes it: a quote inside of a value has a
    -- backslash before it, so a member is found as text.
    state text GENERATED ALWAYS AS (CASE
        WHEN open_questions > 0 THEN 'waiting'
        WHEN agent_status = 'busy' OR open_turn <> '' AND reason <> 'waiting' THEN 'working'
        WHEN last_turn IS NULL THEN ''
        WHEN instr(last_turn, '"reason":"host-lost"') > 0 OR instr(last_turn, '"reason":"host-restarted"') > 0
            OR instr(last_turn, '"reason":"agent-exited"') > 0 OR instr(last_turn, '"reason":"agent-stopped"') > 0
            OR instr(last_turn, '"reason":"not-started"') > 0 THEN 'failed'
        WHEN instr(last_turn, '"reason":"aborted"') > 0 OR instr(last_turn, '"reason":"agent-restarted"') > 0
            OR instr(last_turn, '"finishReason":"stop"') > 0 THEN ''
        WHEN instr(last_turn, '"finishReason":"error"') > 0 OR instr(last_turn, '"finishReason":"content-filter"') > 0
            OR instr(last_turn, '"finishReason":"other"') > 0 OR instr(last_turn, '"reason":"no-finish"') > 0 THEN 'failed'
        ELSE ''
    END) VIRTUAL
);
CREATE UNIQUE INDEX tasks_no ON tasks (no);
CREATE INDEX tasks_owned ON tasks (user_id, id) WHERE deleted_at IS NULL;
CREATE INDEX tasks_active ON tasks (user_id, archived, last_activity_at, id) WHERE deleted_at IS NULL;
CREATE INDEX tasks_state ON tasks (user_id, archived, state, last_activity_at, id) WHERE deleted_at IS NULL AND state <> '';
CREATE INDEX tasks_changed ON tasks (user_id, changed_at, id);
CREATE INDEX tasks_host ON tasks (host_id);
CREATE INDEX tasks_archived ON tasks (no) WHERE archived = TRUE;
CREATE INDEX tasks_deleted ON tasks (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX tasks_queue_withheld ON tasks (user_id) WHERE queue_paused = 'user-disabled';
CREATE INDEX tasks_unsearched ON tasks (no) WHERE words IS NULL;
-- +goose StatementBegin
CREATE TRIGGER tasks_number AFTER INSERT ON tasks BEGIN
    UPDATE tasks SET no = (SELECT max(no) + 1 FROM tasks) WHERE rowid = NEW.rowid;
END;
-- +goose StatementEnd

-- A turn is one message of the user and the agent's work on it.
CREATE TABLE turns (
    task_id       text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    id            text NOT NULL,
    message_id    text NOT NULL, -- of the user; '' for a turn that the host started
    state         text NOT NULL, -- announced, open or closed
    finish_reason text NOT NULL,
    reason        text NOT NULL, -- more about finish_reason
    usage         text, -- an object
    announced_at  timestamp NOT NULL,
    finished_at   timestamp,
    PRIMARY KEY (task_id, id)
);
CREATE INDEX turns_unfinished ON turns (task_id, announced_at) WHERE state <> 'closed';

-- One row is an event, a message, or an event with the message that it left. Without an event, event_id and body are
-- NULL; without a message, id and seq are. There is no foreign key: rows are written only under the lock of their
-- task's row, and checking a key would double the cost.
CREATE TABLE log (
    task_no      integer NOT NULL,
    created_at   timestamp NOT NULL,
    epoch        integer, -- with event_seq, the event's position in the journal of its host; NULL if it has none
    event_seq    integer,
    seq          integer, -- position of the message in the display
    rev          integer, -- of the task, at the message's last change
    late         boolean NOT NULL, -- sent after its epoch had ended, and stored without effects
    type         text NOT NULL, -- of the event
    event_id     text,
    turn_id      text NOT NULL,
    id           text, -- of the message
    role         text,
    status       text,
    tool_call_id text,
    phase        text, -- the halves of a tool use that have arrived: call, result or both
    body_hash    text, -- of a user's message, or diff: and that of a diff
    body         text, -- the event as its host sent it
    message      text, -- NULL if the event is a text: that is in its body
    artifacts    text, -- a list
    words        text -- of the message (broker/store/words.go); NULL until they are known
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
CREATE INDEX log_unsearched ON log (task_no, seq) WHERE words IS NULL AND seq IS NOT NULL;

-- The log as two tables, for people and checkers. The broker reads the log.
CREATE VIEW events AS
SELECT t.id AS task_id, l.event_id, l.epoch, l.event_seq AS seq, l.turn_id, l.type, l.body, l.late, l.created_at AS received_at
FROM log l JOIN tasks t ON t.no = l.task_no WHERE l.event_id IS NOT NULL;

CREATE VIEW messages AS
SELECT t.id AS task_id, l.id, l.seq, l.rev, l.turn_id, l.role, l.status,
    CASE WHEN l.type = 'text' THEN json_extract(l.body, '$.text') ELSE COALESCE(l.message, '') END AS message,
    COALESCE(l.artifacts, '[]') AS artifacts, COALESCE(l.event_id, '') AS event_id, l.tool_call_id,
    COALESCE(l.phase, '') AS phase, l.created_at
FROM log l JOIN tasks t ON t.no = l.task_no WHERE l.seq IS NOT NULL;

-- The index of words. The row of a message is task_no * 4294967296 + seq, that of a title has seq 0. The triggers write
-- it in the transaction of the text. The words are split already: the tokenizer only sees spaces.
CREATE VIRTUAL TABLE search USING fts5 (words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

-- The words of all texts, and their places.
CREATE VIRTUAL TABLE search_terms USING fts5vocab(search, instance);

-- +goose StatementBegin
CREATE TRIGGER log_words_insert AFTER INSERT ON log WHEN NEW.words <> '' BEGIN
    INSERT INTO search (rowid, words) VALUES (NEW.task_no * 4294967296 + NEW.seq, NEW.words);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER log_words_update AFTER UPDATE OF words ON log WHEN NEW.words IS NOT OLD.words BEGIN
    DELETE FROM search WHERE rowid = OLD.task_no * 4294967296 + OLD.seq AND OLD.words <> '';
    INSERT INTO search (rowid, words) SELECT NEW.task_no * 4294967296 + NEW.seq, NEW.words WHERE NEW.words <> '';
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER log_words_delete AFTER DELETE ON log WHEN OLD.words <> '' BEGIN
    DELETE FROM search WHERE rowid = OLD.task_no * 4294967296 + OLD.seq;
END;
-- +goose StatementEnd

-- A new task has its number only after the trigger tasks_number.
-- +goose StatementBegin
CREATE TRIGGER tasks_words_insert AFTER UPDATE OF no ON tasks WHEN NEW.words <> '' BEGIN
    INSERT INTO search (rowid, words) VALUES (NEW.no * 4294967296, NEW.words);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasks_words_update AFTER UPDATE OF words ON tasks WHEN NEW.words IS NOT OLD.words BEGIN
    DELETE FROM search WHERE rowid = OLD.no * 4294967296 AND OLD.words <> '';
    INSERT INTO search (rowid, words) SELECT NEW.no * 4294967296, NEW.words WHERE NEW.words <> '';
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasks_words_delete AFTER DELETE ON tasks WHEN OLD.words <> '' BEGIN
    DELETE FROM search WHERE rowid = OLD.no * 4294967296;
END;
-- +goose StatementEnd

-- Up to which position the bodies of a task's events are removed (broker/store/retention.go).
CREATE TABLE event_prunings (
    task_no integer NOT NULL PRIMARY KEY,
    epoch   integer NOT NULL,
    seq     integer NOT NULL
) WITHOUT ROWID;

-- The changes rev to rev + n - 1 of a task, which its feed repeats.
CREATE TABLE change_ranges (
    task_no integer NOT NULL,
    rev     integer NOT NULL,
    n       integer NOT NULL,
    kind    text NOT NULL, -- message, interaction or task
    seq     integer NOT NULL, -- of the first of n messages with consecutive seqs; else 0
    ref_id  text, -- of the interaction
    PRIMARY KEY (task_no, rev)
);

-- Questions of agents.
CREATE TABLE interactions (
    task_id        text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    id             text NOT NULL, -- chosen by the host
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
    created_at     timestamp NOT NULL,
    PRIMARY KEY (task_id, id)
);
CREATE INDEX interactions_id ON interactions (id);
CREATE INDEX interactions_listed ON interactions (user_id, state, created_at, id);
CREATE INDEX interactions_turn ON interactions (task_id, turn_id);
CREATE INDEX interactions_open ON interactions (task_id) WHERE state = 'open';
-- +goose StatementBegin
CREATE TRIGGER interactions_user AFTER INSERT ON interactions BEGIN
    UPDATE interactions SET user_id = (SELECT user_id FROM tasks WHERE id = NEW.task_id) WHERE task_id = NEW.task_id AND id = NEW.id;
END;
-- +goose StatementEnd

-- The messages that the broker sends when the agent is idle (broker/queue.go).
CREATE TABLE queued_messages (
    task_id     text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    id          text NOT NULL,
    position    integer NOT NULL, -- the lowest is next
    message     text NOT NULL,
    artifacts   text NOT NULL, -- a list
    files       text NOT NULL, -- a list: the attachments without their data
    attachments text NOT NULL, -- a list
    bytes       integer NOT NULL, -- of its content
    hash        text NOT NULL, -- of its content when it was added
    state       text NOT NULL, -- waiting, sending or sent
    turn        integer NOT NULL, -- how many turns its host has refused to start
    turn_id     text NOT NULL, -- of its last attempt
    place       text NOT NULL, -- host or URL that it was sent to
    attempts    integer NOT NULL, -- since the last success
    failure     text NOT NULL, -- of the last attempt
    due_at      timestamp NOT NULL,
    created_at  timestamp NOT NULL,
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
    at       timestamp NOT NULL
);
CREATE INDEX audit_order ON audit (task_id, id);

-- The ends of deleted tasks' sessions that their hosts have not confirmed (broker/sessionends.go). A task with a row
-- here keeps its own row, which names the host.
CREATE TABLE session_ends (
    task_id  text NOT NULL PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    since    timestamp NOT NULL,
    due_at   timestamp NOT NULL,
    attempts integer NOT NULL,
    failure  text NOT NULL -- of the last attempt
);
CREATE INDEX session_ends_due ON session_ends (due_at);

-- What hosts have to end, and have not confirmed (broker/revocations.go): all stream tokens and streams of a task's
-- session, because its user was disabled, or in all sessions those of a sign-in or an API token that has ended.
CREATE TABLE revocations (
    task_id    text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    credential text NOT NULL, -- '' for all of the task's session
    host_id    text REFERENCES hosts (id) ON DELETE CASCADE, -- with a credential, as a deleted task has lost its host
    due_at     timestamp NOT NULL,
    attempts   integer NOT NULL,
    expires_at timestamp NOT NULL,
    PRIMARY KEY (task_id, credential)
);
CREATE INDEX revocations_due ON revocations (due_at);
CREATE INDEX revocations_host ON revocations (host_id);

-- Links to transcripts of tasks (broker/share.go). A row is removed when its link has expired.
CREATE TABLE shares (
    id           text NOT NULL PRIMARY KEY,
    user_id      text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    task_id      text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    hash         blob NOT NULL, -- of the link's token
    title        text NOT NULL, -- of the task when it was shared, as rev
    last_seq     integer NOT NULL, -- position of the last message that readers see
    rev          integer NOT NULL,
    created_at   timestamp NOT NULL,
    expires_at   timestamp NOT NULL,
    last_used_at timestamp
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
    created_at      timestamp NOT NULL,
    updated_at      timestamp NOT NULL
);
CREATE UNIQUE INDEX task_templates_own ON task_templates (owner_id, name);
CREATE UNIQUE INDEX task_templates_shared ON task_templates (name) WHERE owner_id IS NULL;

-- The audit log -------------------------------------------------------------------------------------------------------

-- Who did what (broker/audit.go). Entries are only added; retention removes the oldest ones.
CREATE TABLE audit_log (
    no           integer NOT NULL PRIMARY KEY AUTOINCREMENT,
    at           timestamp NOT NULL,
    action       text NOT NULL,
    actor_kind   text NOT NULL,
    actor_id     text NOT NULL,
    token_id     text NOT NULL, -- the API token that the actor used
    address      text NOT NULL, -- of the actor's client
    via          text NOT NULL, -- how a person at a host was known
    subject_kind text NOT NULL,
    subject_id   text NOT NULL,
    subject_name text NOT NULL,
    detail       text NOT NULL -- an object
);
CREATE UNIQUE INDEX audit_log_no ON audit_log (no);
CREATE INDEX audit_log_at ON audit_log (at);
CREATE INDEX audit_log_actor ON audit_log (actor_id, no);
CREATE INDEX audit_log_subject ON audit_log (subject_id, no);
CREATE INDEX audit_log_name ON audit_log (subject_name, no);
-- +goose StatementBegin
CREATE TRIGGER audit_log_append_only BEFORE UPDATE ON audit_log BEGIN
    SELECT RAISE(ABORT, 'audit_log is append-only');
END;
-- +goose StatementEnd

-- Webhooks and notifications ------------------------------------------------------------------------------------------

-- Where deliveries go: webhooks of users and of agents, and browsers that get notifications.
CREATE TABLE webhook_endpoints (
    id              text NOT NULL PRIMARY KEY,
    user_id         text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind            text NOT NULL,
    url             text NOT NULL,
    host            text NOT NULL, -- of url, with its port
    secret          blob NOT NULL,
    previous_secret blob, -- signs too, until previous_until
    previous_until  timestamp,
    events          text NOT NULL, -- a list
    format          text NOT NULL DEFAULT '', -- of a user's webhook: the service whose format it gets
    credential      text NOT NULL DEFAULT '', -- of a browser: the sign-in that ends it
    label           text NOT NULL DEFAULT '', -- of a browser: what it says about itself
    succeeded_at    timestamp, -- of a browser: its last delivery
    disabled_at     timestamp,
    disabled_reason text NOT NULL,
    created_at      timestamp NOT NULL
);
CREATE INDEX webhook_endpoints_user ON webhook_endpoints (user_id, kind);
CREATE INDEX webhook_endpoints_credential ON webhook_endpoints (credential) WHERE credential <> '';
CREATE INDEX webhook_endpoints_ended ON webhook_endpoints (id) WHERE kind = 'browser' AND disabled_at IS NOT NULL;

-- Whatever ends a sign-in ends its browser's notifications in the same transaction.
-- +goose StatementBegin
CREATE TRIGGER logins_end_notifications AFTER DELETE ON logins WHEN OLD.id <> '' BEGIN
    UPDATE webhook_endpoints SET disabled_at = strftime('%Y-%m-%dT%H:%M:%f000Z', 'now'), disabled_reason = 'signed_out'
    WHERE credential = OLD.id AND credential <> '' AND disabled_at IS NULL;
END;
-- +goose StatementEnd

CREATE TABLE deliveries (
    id           text NOT NULL PRIMARY KEY,
    endpoint_id  text NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    user_id      text NOT NULL,
    kind         text NOT NULL, -- of the endpoint, as host
    host         text NOT NULL,
    message_id   text NOT NULL, -- the same in each attempt
    event        text NOT NULL,
    order_key    text NOT NULL, -- of those that keep their order
    position     integer NOT NULL, -- in that order
    body         blob, -- NULL before the first attempt
    state        text NOT NULL,
    reason       text NOT NULL, -- of the state
    attempts     integer NOT NULL,
    attempted_at timestamp,
    lease        text NOT NULL, -- name of the claim, while a worker holds one
    next_at      timestamp NOT NULL, -- when it is due; while a worker holds it, the end of the lease
    expires_at   timestamp NOT NULL,
    created_at   timestamp NOT NULL,
    finished_at  timestamp
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
    number      integer NOT NULL,
    at          timestamp NOT NULL,
    duration_ms integer NOT NULL,
    status      integer NOT NULL, -- of HTTP; 0 if no response arrived
    error       text NOT NULL,
    answer      blob, -- the beginning of the response
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
    rev              integer NOT NULL, -- number of the last change
    event            text NOT NULL, -- the last change, for the user's feed
    event_source     text NOT NULL, -- the source that it was of
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
    version          integer NOT NULL, -- number of the newest version
    last_seq         integer NOT NULL, -- number of the newest message
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
    size         integer NOT NULL, -- of code, in bytes
    diff         text NOT NULL, -- against the version before
    description  text NOT NULL,
    author       text NOT NULL, -- identifier of the agent
    message_id   text NOT NULL, -- the message that brought it; '' if the agent saved it
    verification text, -- an object
    created_at   timestamp NOT NULL,
    PRIMARY KEY (source_id, version)
);
CREATE INDEX source_versions_unverified ON source_versions (created_at) WHERE verification IS NULL;

CREATE TABLE source_messages (
    id           text NOT NULL PRIMARY KEY,
    source_id    text NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    seq          integer NOT NULL, -- from 1, without gaps
    role         text NOT NULL, -- user or agent
    content      text NOT NULL,
    attachments  text NOT NULL, -- a list
    version      integer NOT NULL, -- that it brought; 0 = none
    reply_to     text NOT NULL, -- of an agent's message: the user's message
    state        text NOT NULL,
    failure      text NOT NULL, -- why it did not reach the agent, or why the agent refused it
    delivered_at timestamp,
    read_at      timestamp,
    seen_at      timestamp, -- when the user's page showed the failure
    created_at   timestamp NOT NULL
);
CREATE UNIQUE INDEX source_messages_seq ON source_messages (source_id, seq);
CREATE UNIQUE INDEX source_messages_reply ON source_messages (reply_to) WHERE reply_to <> '';
CREATE INDEX source_messages_open ON source_messages (source_id, state) WHERE role = 'user' AND state <> 'answered';
CREATE INDEX source_messages_unread ON source_messages (source_id)
    WHERE (role = 'agent' AND read_at IS NULL) OR (failure <> '' AND seen_at IS NULL);
