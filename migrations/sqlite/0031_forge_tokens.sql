-- +goose Up

-- Users' own tokens for forges (broker/forgetoken.go). A broker of an earlier version uses none.
CREATE TABLE forge_tokens (
    id           text NOT NULL PRIMARY KEY,
    user_id      text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    forge        text NOT NULL,
    kind         text NOT NULL,
    token        blob NOT NULL,
    created_at   timestamp NOT NULL,
    last_used_at timestamp
);
CREATE UNIQUE INDEX forge_tokens_user ON forge_tokens (user_id, forge);
