-- +goose Up

-- Lists of tasks are in the order of their times. PostgreSQL has them in slots, because writing an index
-- with every event costs more there.
CREATE INDEX tasks_active ON tasks (user_id, archived, last_activity_at, id) WHERE deleted_at IS NULL;
CREATE INDEX tasks_changed ON tasks (user_id, changed_at, id);
DROP INDEX tasks_user;

-- All tasks of a user who is deleted.
CREATE INDEX tasks_owned ON tasks (user_id, id) WHERE deleted_at IS NULL;

CREATE INDEX interactions_turn ON interactions (task_id, turn_id);
CREATE INDEX interactions_open ON interactions (task_id) WHERE state = 'open';
