-- +goose Up

-- Browsers that get notifications are endpoints of the kind browser: credential is the sign-in that ends them, label
-- what the browser says about itself. format is the service whose format a user's webhook gets.
ALTER TABLE webhook_endpoints ADD COLUMN format text NOT NULL DEFAULT '';
ALTER TABLE webhook_endpoints ADD COLUMN credential text NOT NULL DEFAULT '';
ALTER TABLE webhook_endpoints ADD COLUMN label text NOT NULL DEFAULT '';
ALTER TABLE webhook_endpoints ADD COLUMN succeeded_at timestamptz;
CREATE INDEX webhook_endpoints_credential ON webhook_endpoints (credential) WHERE credential <> '';
CREATE INDEX webhook_endpoints_ended ON webhook_endpoints (id) WHERE kind = 'browser' AND disabled_at IS NOT NULL;

-- Whatever ends a sign-in ends its browser's notifications in the same transaction.
-- +goose StatementBegin
CREATE FUNCTION logins_end_notifications() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE webhook_endpoints SET disabled_at = now(), disabled_reason = 'signed_out'
    WHERE credential = OLD.id AND credential <> '' AND disabled_at IS NULL;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER logins_end_notifications AFTER DELETE ON logins
    FOR EACH ROW WHEN (OLD.id <> '') EXECUTE FUNCTION logins_end_notifications();
