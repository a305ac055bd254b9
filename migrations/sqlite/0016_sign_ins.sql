-- +goose Up

-- A disabled user cannot sign in. A deleted one cannot either, and maintenance erases all their rows.
ALTER TABLE users ADD COLUMN disabled_at timestamp;
ALTER TABLE users ADD COLUMN deleted_at timestamp;
CREATE INDEX users_deleted ON users (deleted_at) WHERE deleted_at IS NOT NULL;

-- What a user sees of a sign-in. One that a broker of an earlier version stored gets it with its next
-- request.
ALTER TABLE logins ADD COLUMN id text NOT NULL DEFAULT '';
ALTER TABLE logins ADD COLUMN user_id text NOT NULL DEFAULT '';
ALTER TABLE logins ADD COLUMN user_agent text NOT NULL DEFAULT '';
ALTER TABLE logins ADD COLUMN address text NOT NULL DEFAULT '';
ALTER TABLE logins ADD COLUMN began_at timestamp;
ALTER TABLE logins ADD COLUMN last_used_at timestamp;
CREATE INDEX logins_user ON logins (user_id);
