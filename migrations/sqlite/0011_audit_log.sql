-- +goose Up

-- Who did what (broker/audit.go). Entries are only added; retention removes the oldest ones. The
-- table audit has the events of hosts that were refused.
CREATE TABLE audit_log (
    no           integer NOT NULL PRIMARY KEY AUTOINCREMENT,
    at           timestamp NOT NULL,
    action       text NOT NULL,
    actor_kind   text NOT NULL,
    actor_id     text NOT NULL,
    token_id     text NOT NULL,
    address      text NOT NULL,
    via          text NOT NULL,
    subject_kind text NOT NULL,
    subject_id   text NOT NULL,
    subject_name text NOT NULL,
    detail       text NOT NULL
);
CREATE UNIQUE INDEX audit_log_no ON audit_log (no);
CREATE INDEX audit_log_at ON audit_log (at);
CREATE INDEX audit_log_actor ON audit_log (actor_id, no);
CREATE INDEX audit_log_subject ON audit_log (subject_id, no);

-- +goose StatementBegin
CREATE TRIGGER audit_log_append_only BEFORE UPDATE ON audit_log BEGIN
    SELECT RAISE(ABORT, 'audit_log is append-only');
END;
-- +goose StatementEnd
