-- +goose Up

-- How much of its session's work the task's user wants to be asked about. Earlier brokers left
-- that to each check-in.
ALTER TABLE tasks ADD COLUMN permission_mode text NOT NULL DEFAULT '';
