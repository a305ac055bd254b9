-- +goose Up

-- Up to which position the bodies of a task's events are removed (broker/store/retention.go). A broker of
-- an earlier version does not look at it.
CREATE TABLE event_prunings (
    task_no integer NOT NULL PRIMARY KEY,
    epoch   integer NOT NULL,
    seq     integer NOT NULL
) WITHOUT ROWID;

-- Archived tasks, and a task's refused events from the oldest to the newest.
CREATE INDEX tasks_archived ON tasks (no) WHERE archived = TRUE;
CREATE INDEX audit_order ON audit (task_id, id);
DROP INDEX audit_task;
