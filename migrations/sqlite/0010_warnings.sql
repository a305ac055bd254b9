-- +goose Up

-- The danger of the call that a question names. Earlier brokers had it in the prompt.
ALTER TABLE interactions ADD COLUMN warning text NOT NULL DEFAULT '';
