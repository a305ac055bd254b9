-- +goose Up

-- The host repeated the name of a request in an answer: what does not is no answer of it, until its URL is set again.
ALTER TABLE hosts ADD COLUMN names boolean NOT NULL DEFAULT FALSE;
