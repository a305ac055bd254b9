-- +goose Up

-- The words of titles and messages (broker/store/words.go); NULL until they are known. Those of the rows
-- of before are added while the broker serves, a step at a time.
ALTER TABLE tasks ADD COLUMN words text;
ALTER TABLE log ADD COLUMN words text;
CREATE INDEX tasks_unsearched ON tasks (no) WHERE words IS NULL;
CREATE INDEX log_unsearched ON log (task_no, seq) WHERE words IS NULL AND seq IS NOT NULL;

-- Tool calls that run, diffs, and the audit log by names.
CREATE INDEX log_running ON log (task_no, turn_id) WHERE phase = 'call';
CREATE INDEX log_diffs ON log (task_no, seq) WHERE substr(body_hash, 1, 5) = 'diff:';
CREATE INDEX audit_log_name ON audit_log (subject_name, no);

-- Questions have their user, so that a list of one state is a page of an index. A task never changes its
-- user.
ALTER TABLE interactions ADD COLUMN user_id text;
UPDATE interactions SET user_id = (SELECT user_id FROM tasks WHERE id = interactions.task_id);
CREATE INDEX interactions_listed ON interactions (user_id, state, created_at, id);
-- +goose StatementBegin
CREATE TRIGGER interactions_user AFTER INSERT ON interactions BEGIN
    UPDATE interactions SET user_id = (SELECT user_id FROM tasks WHERE id = NEW.task_id) WHERE task_id = NEW.task_id AND id = NEW.id;
END;
-- +goose StatementEnd

-- The row of a message is task_no * 4294967296 + seq, that of a title has seq 0. The triggers write it in
-- the transaction of the text. The words are split already: the tokenizer only sees spaces.
CREATE VIRTUAL TABLE search USING fts5 (words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

-- The words of all texts, and their places.
CREATE VIRTUAL TABLE search_terms USING fts5vocab(search, instance);

-- +goose StatementBegin
CREATE TRIGGER log_words_insert AFTER INSERT ON log WHEN NEW.words <> '' BEGIN
    INSERT INTO search (rowid, words) VALUES (NEW.task_no * 4294967296 + NEW.seq, NEW.words);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER log_words_update AFTER UPDATE OF words ON log WHEN NEW.words IS NOT OLD.words BEGIN
    DELETE FROM search WHERE rowid = OLD.task_no * 4294967296 + OLD.seq AND OLD.words <> '';
    INSERT INTO search (rowid, words) SELECT NEW.task_no * 4294967296 + NEW.seq, NEW.words WHERE NEW.words <> '';
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER log_words_delete AFTER DELETE ON log WHEN OLD.words <> '' BEGIN
    DELETE FROM search WHERE rowid = OLD.task_no * 4294967296 + OLD.seq;
END;
-- +goose StatementEnd

-- A new task has its number only after the trigger tasks_number.
-- +goose StatementBegin
CREATE TRIGGER tasks_words_insert AFTER UPDATE OF no ON tasks WHEN NEW.words <> '' BEGIN
    INSERT INTO search (rowid, words) VALUES (NEW.no * 4294967296, NEW.words);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasks_words_update AFTER UPDATE OF words ON tasks WHEN NEW.words IS NOT OLD.words BEGIN
    DELETE FROM search WHERE rowid = OLD.no * 4294967296 AND OLD.words <> '';
    INSERT INTO search (rowid, words) SELECT NEW.no * 4294967296, NEW.words WHERE NEW.words <> '';
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasks_words_delete AFTER DELETE ON tasks WHEN OLD.words <> '' BEGIN
    DELETE FROM search WHERE rowid = OLD.no * 4294967296;
END;
-- +goose StatementEnd
