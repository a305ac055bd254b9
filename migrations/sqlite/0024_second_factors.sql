-- +goose Up

-- The second factor of a user's sign-in by password (broker/auth/factor.go). One that is not confirmed does
-- not count. A broker of an earlier version asks for none.
CREATE TABLE second_factors (
    user_id      text NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    secret       blob NOT NULL,
    last_step    integer NOT NULL,
    created_at   timestamp NOT NULL,
    confirmed_at timestamp
);

-- Hashes of codes that stand in for the app, each once. A code that was used has no row.
CREATE TABLE recovery_codes (
    user_id text NOT NULL REFERENCES second_factors (user_id) ON DELETE CASCADE,
    hash    blob NOT NULL,
    PRIMARY KEY (user_id, hash)
);
