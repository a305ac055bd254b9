-- The task's revision at the newest check-in of the present incarnation.
ALTER TABLE sessions ADD COLUMN announced_rev INTEGER NOT NULL DEFAULT 0;
