-- +goose Up

-- Hosts could name any origin. Those that a host may name are added again at its next check-in.
DELETE FROM stream_origins;
