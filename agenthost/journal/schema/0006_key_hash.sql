-- Hex SHA-256 of the key that the session's broker proves itself with; '' for none.
ALTER TABLE sessions ADD COLUMN key_hash TEXT NOT NULL DEFAULT '';
