-- +goose Up

ALTER TABLE hosts ADD COLUMN reach text NOT NULL DEFAULT 'direct';

-- Where browsers were sent to stream, by who decided it: a registered host, or the
-- user whose task has a URL of its own. The console may call these origins.
CREATE TABLE stream_origins (
    owner  text NOT NULL,
    origin text NOT NULL,
    PRIMARY KEY (owner, origin)
);
