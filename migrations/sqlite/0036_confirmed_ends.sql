-- +goose Up

-- The id of the list of what exists only in the workspaces of a deleted task, if its user confirmed that this may be
-- lost; '' if not.
ALTER TABLE session_ends ADD COLUMN confirmed text NOT NULL DEFAULT '';
