-- The credential that a stream token was issued to, as its broker named it; '' for none.
ALTER TABLE tokens ADD COLUMN credential TEXT NOT NULL DEFAULT '';
