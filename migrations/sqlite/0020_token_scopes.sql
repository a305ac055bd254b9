-- +goose Up

-- What an API token may be used for, as a JSON list. An empty list is that of a token of before, or of a
-- broker of an earlier version: it may be used for everything that its kind and user may do.
ALTER TABLE api_tokens ADD COLUMN scopes text NOT NULL DEFAULT '[]';
