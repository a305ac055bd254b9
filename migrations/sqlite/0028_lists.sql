-- +goose Up

-- Lists of tasks are in the order of their times. PostgreSQL has them in slots, because writing an index
-- with every event costs more there.
CREATE INDEX tasks_active ON tasks (user_id, archived, last_activity_at, id) WHERE deleted_at IS NULL;

-- What lists are filtered by (broker.TaskState). last_turn is JSON as Go writes it: a quote inside of a value has a
-- backslash before it, so a member is found as text.
ALTER TABLE tasks ADD COLUMN state text GENERATED ALWAYS AS (CASE
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
    END) VIRTUAL;
CREATE INDEX tasks_state ON tasks (user_id, archived, state, last_activity_at, id) WHERE deleted_at IS NULL AND state <> '';
CREATE INDEX tasks_changed ON tasks (user_id, changed_at, id);
DROP INDEX tasks_user;

-- All tasks of a user who is deleted.
CREATE INDEX tasks_owned ON tasks (user_id, id) WHERE deleted_at IS NULL;

CREATE INDEX interactions_turn ON interactions (task_id, turn_id);
CREATE INDEX interactions_open ON interactions (task_id) WHERE state = 'open';
