-- +goose NO TRANSACTION
-- +goose Up

-- The indexes are built while brokers serve, so this file is not one transaction. After an interruption it is
-- repeated from here: complete indexes stay, and those whose building was interrupted are dropped first.
-- +goose StatementBegin
DO $$
DECLARE
    incomplete regclass;
BEGIN
    FOR incomplete IN SELECT indexrelid FROM pg_index WHERE NOT (indisvalid AND indisready) AND indexrelid IN (
        to_regclass('tasks_words'), to_regclass('log_words'), to_regclass('tasks_unsearched'), to_regclass('log_unsearched'),
        to_regclass('log_running'), to_regclass('log_diffs'), to_regclass('audit_log_name'), to_regclass('interactions_listed'))
    LOOP
        EXECUTE format('DROP INDEX %s', incomplete);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- The words of titles and messages (broker/store/words.go); NULL until they are known. A broker of an
-- earlier version writes none; the present one adds them within seconds, a step at a time, and so does
-- it for the rows of before.
ALTER TABLE tasks ADD COLUMN IF NOT EXISTS words tsvector;
ALTER TABLE log ADD COLUMN IF NOT EXISTS words tsvector;
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_words ON tasks USING gin (words) WHERE words IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS log_words ON log USING gin (words) WHERE words IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_unsearched ON tasks (no) WHERE words IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS log_unsearched ON log (task_no, seq) WHERE words IS NULL AND seq IS NOT NULL;

-- Tool calls that run, diffs, and the audit log by names.
CREATE INDEX CONCURRENTLY IF NOT EXISTS log_running ON log (task_no, turn_id) WHERE phase = 'call';
CREATE INDEX CONCURRENTLY IF NOT EXISTS log_diffs ON log (task_no, seq) WHERE substr(body_hash, 1, 5) = 'diff:';
CREATE INDEX CONCURRENTLY IF NOT EXISTS audit_log_name ON audit_log (subject_name, no);

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
CREATE INDEX CONCURRENTLY IF NOT EXISTS interactions_listed ON interactions (user_id, state, created_at, id);

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
