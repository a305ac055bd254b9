-- One row that is written to test whether the disk accepts writes.
CREATE TABLE probe (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    value INTEGER NOT NULL
);
INSERT INTO probe (id, value) VALUES (1, 0);
