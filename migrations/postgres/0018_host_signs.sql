-- +goose Up

-- The task's host announced that it signs its posts to the webhook. A broker of an earlier version
-- does not look at it.
ALTER TABLE tasks ADD COLUMN host_signs boolean NOT NULL DEFAULT FALSE;
