-- +goose Up

-- Ids are compared byte by byte, as SQLite does: the rules of a language cost time.
ALTER TABLE tasks ALTER COLUMN id TYPE text COLLATE "C";
ALTER TABLE turns ALTER COLUMN task_id TYPE text COLLATE "C", ALTER COLUMN id TYPE text COLLATE "C";
ALTER TABLE interactions ALTER COLUMN task_id TYPE text COLLATE "C", ALTER COLUMN id TYPE text COLLATE "C";

-- no stands for the id in the tables that grow.
ALTER TABLE tasks ADD COLUMN no bigint NOT NULL GENERATED ALWAYS AS IDENTITY;
CREATE UNIQUE INDEX tasks_no ON tasks (no);

-- The rows of these tables are moved to the new ones while brokers run (broker/store/move.go). Until
-- then brokers read both. A broker of an earlier version finds neither and stores nothing.
ALTER TABLE events RENAME TO old_events;
ALTER TABLE messages RENAME TO old_messages;
ALTER TABLE changes RENAME TO old_changes;

-- The tasks that may still have rows in the old tables.
CREATE TABLE log_moves (
    task_id text COLLATE "C" NOT NULL PRIMARY KEY
);
INSERT INTO log_moves SELECT id FROM tasks;

-- One row is an event, a message, or an event with the message that it left. Without an event,
-- event_id and body are NULL; without a message, id and seq are. seq is the position in the
-- display, (epoch, event_seq) that in the host's journal. A text event's message has the text of
-- its body, so message is NULL. There is no foreign key: rows are written only under the lock of
-- their task's row, and checking a key would double the cost.
CREATE TABLE log (
    task_no      bigint NOT NULL,
    created_at   timestamptz NOT NULL,
    epoch        bigint,
    event_seq    bigint,
    seq          bigint,
    rev          bigint,
    late         boolean NOT NULL,
    type         text COLLATE "C" NOT NULL,
    event_id     text COLLATE "C",
    turn_id      text COLLATE "C" NOT NULL,
    id           text COLLATE "C",
    role         text COLLATE "C",
    status       text COLLATE "C",
    tool_call_id text COLLATE "C",
    phase        text COLLATE "C",
    body_hash    text COLLATE "C",
    body         text,
    message      text,
    artifacts    text
);
CREATE UNIQUE INDEX log_event ON log (task_no, event_id) WHERE event_id IS NOT NULL;
CREATE UNIQUE INDEX log_position ON log (task_no, epoch, event_seq) WHERE epoch IS NOT NULL AND late = FALSE;
CREATE UNIQUE INDEX log_seq ON log (task_no, seq) WHERE seq IS NOT NULL;
CREATE UNIQUE INDEX log_user ON log (task_no, id) WHERE role = 'USER';
CREATE INDEX log_tool ON log (task_no, tool_call_id) WHERE tool_call_id IS NOT NULL;
CREATE INDEX log_turn ON log (task_no, turn_id) WHERE role = 'USER';
CREATE INDEX log_sending ON log (created_at) WHERE status = 'SENDING';

-- The changes rev to rev + n - 1 of a task: of its messages seq to seq + n - 1 (else 0), of the interaction
-- ref_id, or of the task itself.
CREATE TABLE change_ranges (
    task_no bigint NOT NULL,
    rev     bigint NOT NULL,
    n       bigint NOT NULL,
    kind    text COLLATE "C" NOT NULL,
    seq     bigint NOT NULL,
    ref_id  text COLLATE "C",
    PRIMARY KEY (task_no, rev)
);

-- For people and checkers; the broker reads the tables.
CREATE VIEW events AS
SELECT t.id AS task_id, l.event_id, l.epoch, l.event_seq AS seq, l.turn_id, l.type, l.body, l.late, l.created_at AS received_at
FROM log l JOIN tasks t ON t.no = l.task_no WHERE l.event_id IS NOT NULL
UNION ALL
SELECT task_id COLLATE "C", event_id COLLATE "C", epoch, seq, turn_id COLLATE "C", type COLLATE "C", body, late, received_at FROM old_events;

CREATE VIEW messages AS
SELECT t.id AS task_id, l.id, l.seq, l.rev, l.turn_id, l.role, l.status,
    CASE WHEN l.type = 'text' THEN l.body::json ->> 'text' ELSE COALESCE(l.message, '') END AS message,
    COALESCE(l.artifacts, '[]') AS artifacts, COALESCE(l.event_id, '') AS event_id, l.tool_call_id,
    COALESCE(l.phase, '') AS phase, l.created_at
FROM log l JOIN tasks t ON t.no = l.task_no WHERE l.seq IS NOT NULL
UNION ALL
SELECT task_id COLLATE "C", id COLLATE "C", seq, rev, turn_id COLLATE "C", role COLLATE "C", status COLLATE "C", message, artifacts,
    event_id COLLATE "C", tool_call_id COLLATE "C", phase COLLATE "C", created_at FROM old_messages;
