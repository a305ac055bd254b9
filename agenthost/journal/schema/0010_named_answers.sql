-- 1: the broker names itself, and the request, in each of its answers.
ALTER TABLE sessions ADD COLUMN named_answers INTEGER NOT NULL DEFAULT 0;
