-- What a session's user wants to be asked about; '' is "ask".
ALTER TABLE sessions ADD COLUMN permission_mode TEXT NOT NULL DEFAULT '';
