-- +goose Up

CREATE TABLE webhook_endpoints (
    id              text NOT NULL PRIMARY KEY,
    user_id         text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind            text NOT NULL,
    url             text NOT NULL,
    host            text NOT NULL,
    secret          blob NOT NULL,
    previous_secret blob,
    previous_until  timestamp,
    events          text NOT NULL,
    disabled_at     timestamp,
    disabled_reason text NOT NULL,
    created_at      timestamp NOT NULL
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
    position     integer NOT NULL,
    body         blob,
    state        text NOT NULL,
    reason       text NOT NULL,
    attempts     integer NOT NULL,
    attempted_at timestamp,
    lease        text NOT NULL,
    next_at      timestamp NOT NULL,
    expires_at   timestamp NOT NULL,
    created_at   timestamp NOT NULL,
    finished_at  timestamp
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
    number      integer NOT NULL,
    at          timestamp NOT NULL,
    duration_ms integer NOT NULL,
    status      integer NOT NULL,
    error       text NOT NULL,
    answer      blob,
    PRIMARY KEY (delivery_id, number)
);
