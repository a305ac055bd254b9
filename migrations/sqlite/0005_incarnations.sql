-- +goose Up

-- The unbroken lives of this database; the newest is the present one. fingerprint names the copy
-- of the data that the row was written in: a restored copy, or a promoted standby, has another.
CREATE TABLE incarnations (
    number      integer NOT NULL,
    id          text NOT NULL,
    fingerprint text NOT NULL,
    reason      text NOT NULL,
    since       timestamp NOT NULL
);
CREATE UNIQUE INDEX incarnations_number ON incarnations (number);
