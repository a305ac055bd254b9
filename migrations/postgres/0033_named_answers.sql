-- +goose Up

-- The task's host announced that it repeats the name of a request in its answer.
ALTER TABLE tasks ADD COLUMN host_names boolean NOT NULL DEFAULT FALSE;
