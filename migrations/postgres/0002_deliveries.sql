-- +goose Up

CREATE TABLE webhook_endpoints (
    id              text NOT NULL PRIMARY KEY,
    user_id         text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind            text NOT NULL,
    url             text NOT NULL,
    host            text NOT NULL,
    secret          bytea NOT NULL,
    previous_secret bytea,
    previous_until  timestamptz,
    events          text NOT NULL,
    disabled_at     timestamptz,
    disabled_reason text NOT NULL,
    created_at      timestamptz NOT NULL
);
CREATE INDEX webhook_endpoints_user ON webhook_endpoints (user_id, kind);

-- While a worker holds a delivery, lease is the name of its claim and next_at is the end of the
-- lease. After that time the row is due again like any other.
CREATE TABLE deliveries (
    id           text NOT NULL PRIMARY KEY,
    endpoint_id  text NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    user_id      text NOT NULL,
    kind         text NOT NULL,
    host         text NOT NULL,
    message_id   text NOT NULL,
    event        text NOT NULL,
    order_key    text NOT NULL,
    position     bigint NOT NULL,
    body         bytea,
    state        text NOT NULL,
    reason       text NOT NULL,
    attempts     bigint NOT NULL,
    attempted_at timestamptz,
    lease        text NOT NULL,
    next_at      timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    created_at   timestamptz NOT NULL,
    finished_at  timestamptz
);
CREATE UNIQUE INDEX deliveries_message ON deliveries (endpoint_id, message_id);
CREATE INDEX deliveries_user ON deliveries (user_id, id);
CREATE INDEX deliveries_due ON deliveries (next_at) WHERE state = 'queued';
CREATE INDEX deliveries_host ON deliveries (host, next_at) WHERE state = 'queued';
CREATE INDEX deliveries_order ON deliveries (endpoint_id, order_key, position) WHERE finished_at IS NULL;
CREATE INDEX deliveries_held ON deliveries (expires_at) WHERE state = 'held';
CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE delivery_attempts (
    delivery_id text NOT NULL REFERENCES deliveries (id) ON DELETE CASCADE,
    number      bigint NOT NULL,
    at          timestamptz NOT NULL,
    duration_ms bigint NOT NULL,
    status      bigint NOT NULL,
    error       text NOT NULL,
    answer      bytea,
    PRIMARY KEY (delivery_id, number)
);
