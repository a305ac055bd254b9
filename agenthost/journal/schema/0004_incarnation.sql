-- What a broker may have lost, and what it was compared with.
ALTER TABLE sessions ADD COLUMN incarnation TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN resend_epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN resend_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN owner TEXT NOT NULL DEFAULT '';

ALTER TABLE turns ADD COLUMN message_id TEXT NOT NULL DEFAULT '';
