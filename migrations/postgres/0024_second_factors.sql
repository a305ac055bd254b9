-- +goose Up

-- The second factor of a user's sign-in by password (broker/auth/factor.go). One that is not confirmed does
-- not count. A broker of an earlier version asks for none.
CREATE TABLE second_factors (
    user_id      text NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    secret       bytea NOT NULL,
    last_step    bigint NOT NULL,
    created_at   timestamptz NOT NULL,
    confirmed_at timestamptz
);

-- Hashes of codes that stand in for the app, each once. A code that was used has no row.
CREATE TABLE recovery_codes (
    user_id text NOT NULL REFERENCES second_factors (user_id) ON DELETE CASCADE,
    hash    bytea NOT NULL,
    PRIMARY KEY (user_id, hash)
);
