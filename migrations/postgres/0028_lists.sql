-- +goose Up

-- Lists of tasks are in the order of their times, which every event changes. An index of the times would
-- be written with every event, so it has them in slots of 64 seconds; within a slot a query sorts. The
-- columns are generated, so a broker of an earlier version writes them too. This rewrites the table of
-- tasks, which is small: a second per 100,000 tasks. Building indexes of the rewritten table in steps
-- would take longer than that.
ALTER TABLE tasks
    ADD COLUMN active_slot bigint GENERATED ALWAYS AS
        (floor(extract(epoch FROM last_activity_at AT TIME ZONE 'UTC') / 64)::bigint) STORED,
    ADD COLUMN changed_slot bigint GENERATED ALWAYS AS
        (floor(extract(epoch FROM changed_at AT TIME ZONE 'UTC') / 64)::bigint) STORED,
    -- What lists are filtered by (broker.TaskState). last_turn is JSON as Go writes it: a quote inside of a value
    -- has a backslash before it, so a member is found as text.
    ADD COLUMN state text GENERATED ALWAYS AS (CASE
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
    END) STORED;
CREATE INDEX tasks_active ON tasks (user_id, archived, active_slot) WHERE deleted_at IS NULL;
CREATE INDEX tasks_state ON tasks (user_id, archived, state, active_slot) WHERE deleted_at IS NULL AND state <> '';
CREATE INDEX tasks_changed ON tasks (user_id, changed_slot);
DROP INDEX tasks_user;

-- All tasks of a user who is deleted.
CREATE INDEX tasks_owned ON tasks (user_id, id) WHERE deleted_at IS NULL;

CREATE INDEX interactions_turn ON interactions (task_id, turn_id);
CREATE INDEX interactions_open ON interactions (task_id) WHERE state = 'open';
