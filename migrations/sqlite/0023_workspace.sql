-- +goose Up

-- The workspace, created by name, in which the task's session works; '' for one of its own.
ALTER TABLE tasks ADD COLUMN workspace text NOT NULL DEFAULT '';
