-- +goose Up

-- Sessions that began before this time have ended: the password was changed then. A broker of an
-- earlier version does not look at it.
ALTER TABLE users ADD COLUMN sessions_after timestamp;
