-- Hex SHA-256 of the key of the session's owner, which opens the workspaces that the session creates; '' for none.
ALTER TABLE sessions ADD COLUMN owner_key_hash TEXT NOT NULL DEFAULT '';
