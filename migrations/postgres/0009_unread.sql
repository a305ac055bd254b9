-- +goose Up

-- When the user's page showed that the message failed; null while it did not.
ALTER TABLE source_messages ADD COLUMN seen_at timestamptz;

CREATE INDEX source_messages_unread ON source_messages (source_id)
    WHERE (role = 'agent' AND read_at IS NULL) OR (failure <> '' AND seen_at IS NULL);
