-- +goose Up

-- Who did what (broker/audit.go). Entries are only added; retention removes the oldest ones. The
-- table audit has the events of hosts that were refused.
CREATE TABLE audit_log (
    no           bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    at           timestamptz NOT NULL,
    action       text COLLATE "C" NOT NULL,
    actor_kind   text COLLATE "C" NOT NULL,
    actor_id     text COLLATE "C" NOT NULL,
    token_id     text COLLATE "C" NOT NULL,
    address      text COLLATE "C" NOT NULL,
    via          text COLLATE "C" NOT NULL,
    subject_kind text COLLATE "C" NOT NULL,
    subject_id   text COLLATE "C" NOT NULL,
    subject_name text COLLATE "C" NOT NULL,
    detail       text NOT NULL
);
CREATE UNIQUE INDEX audit_log_no ON audit_log (no);
CREATE INDEX audit_log_at ON audit_log (at);
CREATE INDEX audit_log_actor ON audit_log (actor_id, no);
CREATE INDEX audit_log_subject ON audit_log (subject_id, no);

-- +goose StatementBegin
CREATE FUNCTION audit_log_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit_log is append-only';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_refuse();
