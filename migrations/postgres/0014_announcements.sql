-- +goose Up

-- What administrators announce to all users (broker/announcements.go). A row stays for a while
-- after its end, so that a repeated request is recognized.
CREATE TABLE announcements (
    id           text COLLATE "C" NOT NULL PRIMARY KEY,
    text         text NOT NULL,
    level        text NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    cancelled_at timestamptz
);
CREATE INDEX announcements_by_end ON announcements (expires_at);
