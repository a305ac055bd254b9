-- +goose Up

ALTER TABLE hosts ADD COLUMN reach text NOT NULL DEFAULT 'direct';

-- Origins to which browsers were sent for streams, by their source: a registered host, or the
-- user whose task has its own URL. The console may connect to these origins.
CREATE TABLE stream_origins (
    owner  text NOT NULL,
    origin text NOT NULL,
    PRIMARY KEY (owner, origin)
);
