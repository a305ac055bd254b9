-- +goose NO TRANSACTION
-- +goose Up

-- The words of titles and messages (broker/store/words.go); NULL until they are known. A broker of an
-- earlier version writes none; the present one adds them within seconds, a step at a time, and so does
-- it for the rows of before. The indexes are built while brokers serve. A step that was interrupted is
-- repeated: what it left is dropped first.
ALTER TABLE tasks ADD COLUMN IF NOT EXISTS words tsvector;
ALTER TABLE log ADD COLUMN IF NOT EXISTS words tsvector;
DROP INDEX IF EXISTS tasks_words;
CREATE INDEX CONCURRENTLY tasks_words ON tasks USING gin (words) WHERE words IS NOT NULL;
DROP INDEX IF EXISTS log_words;
CREATE INDEX CONCURRENTLY log_words ON log USING gin (words) WHERE words IS NOT NULL;
DROP INDEX IF EXISTS tasks_unsearched;
CREATE INDEX CONCURRENTLY tasks_unsearched ON tasks (no) WHERE words IS NULL;
DROP INDEX IF EXISTS log_unsearched;
CREATE INDEX CONCURRENTLY log_unsearched ON log (task_no, seq) WHERE words IS NULL AND seq IS NOT NULL;

-- Tool calls that run, diffs, and the audit log by names.
DROP INDEX IF EXISTS log_running;
CREATE INDEX CONCURRENTLY log_running ON log (task_no, turn_id) WHERE phase = 'call';
DROP INDEX IF EXISTS log_diffs;
CREATE INDEX CONCURRENTLY log_diffs ON log (task_no, seq) WHERE substr(body_hash, 1, 5) = 'diff:';
DROP INDEX IF EXISTS audit_log_name;
CREATE INDEX CONCURRENTLY audit_log_name ON audit_log (subject_name, no);

-- Questions have their user, so that a list of one state is a page of an index. A trigger writes it, for
-- brokers of an earlier version too. A task never changes its user.
ALTER TABLE interactions ADD COLUMN IF NOT EXISTS user_id text;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION interactions_find_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT user_id INTO NEW.user_id FROM tasks WHERE id = NEW.task_id;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
DROP TRIGGER IF EXISTS interactions_user ON interactions;
CREATE TRIGGER interactions_user BEFORE INSERT ON interactions FOR EACH ROW EXECUTE FUNCTION interactions_find_user();
UPDATE interactions i SET user_id = t.user_id FROM tasks t WHERE t.id = i.task_id AND i.user_id IS NULL;
DROP INDEX IF EXISTS interactions_listed;
CREATE INDEX CONCURRENTLY interactions_listed ON interactions (user_id, state, created_at, id);

-- A broker of an earlier version changes a title without its words.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION tasks_forget_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.words := NULL;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
DROP TRIGGER IF EXISTS tasks_title ON tasks;
CREATE TRIGGER tasks_title BEFORE UPDATE OF title ON tasks FOR EACH ROW
    WHEN (NEW.title IS DISTINCT FROM OLD.title AND NEW.words IS NOT DISTINCT FROM OLD.words)
    EXECUTE FUNCTION tasks_forget_words();
