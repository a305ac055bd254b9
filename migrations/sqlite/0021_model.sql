-- +goose Up

-- The language model that the task's user chose; '' leaves it to the host.
ALTER TABLE tasks ADD COLUMN model text NOT NULL DEFAULT '';
