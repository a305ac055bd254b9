-- One row that is written to find out whether the disk takes writes.
CREATE TABLE probe (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    value INTEGER NOT NULL
);
INSERT INTO probe (id, value) VALUES (1, 0);
