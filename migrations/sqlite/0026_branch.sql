-- +goose Up

-- The branch of the project that the task's session starts from; '' for the project's default.
ALTER TABLE tasks ADD COLUMN branch text NOT NULL DEFAULT '';
