-- +goose Up

-- The life of each agent host whose events are stored (broker/hostlives.go). Copies of a host's data have the host in
-- common.
CREATE TABLE host_lives (
    url        text NOT NULL, -- where the broker reaches the host
    host       text NOT NULL, -- as the host names its data
    life       text NOT NULL, -- that served at url when it was asked last
    since      timestamptz NOT NULL,
    copy_place text NOT NULL DEFAULT '', -- where the other copy runs whose events were refused last
    copy_at    timestamptz, -- when they were
    PRIMARY KEY (url, host)
);
CREATE INDEX host_lives_since ON host_lives (since);
CREATE INDEX host_lives_copied ON host_lives (copy_at) WHERE copy_at IS NOT NULL;
