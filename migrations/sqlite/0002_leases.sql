-- Who may write a pipeline, and more about each batch. Times are microseconds
-- since 1970 UTC, in this table by the store's own clock.

CREATE TABLE leases (
	name TEXT PRIMARY KEY NOT NULL,  -- the pipeline
	fence INTEGER NOT NULL,          -- of the newest holder; only grows
	holder TEXT NOT NULL,            -- no two holdings have the same
	host TEXT NOT NULL,
	pid INTEGER NOT NULL,
	process TEXT NOT NULL,           -- boot, pid namespace, start: a pid comes again
	session TEXT NOT NULL,           -- of the destination; a successor may end it
	since INTEGER NOT NULL,
	until INTEGER NOT NULL           -- 0: given back
) WITHOUT ROWID;

ALTER TABLE batches ADD COLUMN window_from TEXT;  -- the mark before it, JSON
ALTER TABLE batches ADD COLUMN error_code TEXT;   -- NULL: it is loaded
ALTER TABLE batches ADD COLUMN error_message TEXT;

CREATE INDEX runs_by_pipeline ON runs (pipeline, created_at);
CREATE INDEX runs_by_time ON runs (created_at);

-- Of the attempts of a pipeline, which came after which, whatever a client's
-- clock says.
ALTER TABLE attempts ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
DROP INDEX attempts_by_pipeline;
CREATE INDEX attempts_by_pipeline ON attempts (pipeline, seq);
