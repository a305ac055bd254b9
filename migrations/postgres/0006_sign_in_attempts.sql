-- +goose Up

-- Sign-in attempts by address, and by address and account. key is a hash of them. paid_at is the
-- time in milliseconds at which all counted attempts are paid for (broker/store/attempt.go).
CREATE TABLE sign_in_attempts (
    key     bytea NOT NULL PRIMARY KEY,
    paid_at bigint NOT NULL
);
CREATE INDEX sign_in_attempts_paid ON sign_in_attempts (paid_at);
