-- Who may write a pipeline, and more about each batch. Times are microseconds
-- since 1970 UTC, in this table by the store's own clock.

CREATE TABLE tidemark.leases (
	name text PRIMARY KEY,  -- the pipeline
	fence bigint NOT NULL,          -- of the newest holder; only grows
	holder text NOT NULL,            -- no two holdings have the same
	host text NOT NULL,
	pid bigint NOT NULL,
	process text NOT NULL,           -- boot, pid namespace, start: a pid comes again
	session text NOT NULL,           -- of the destination; a successor may end it
	since bigint NOT NULL,
	until bigint NOT NULL           -- 0: given back
);

ALTER TABLE tidemark.batches ADD COLUMN window_from text;  -- the mark before it, JSON
ALTER TABLE tidemark.batches ADD COLUMN error_code text;   -- NULL: it is loaded
ALTER TABLE tidemark.batches ADD COLUMN error_message text;

CREATE INDEX runs_by_pipeline ON tidemark.runs (pipeline, created_at);
CREATE INDEX runs_by_time ON tidemark.runs (created_at);

-- Of the attempts of a pipeline, which came after which, whatever a client's
-- clock says.
ALTER TABLE tidemark.attempts ADD COLUMN seq bigint NOT NULL DEFAULT 0;
DROP INDEX tidemark.attempts_by_pipeline;
CREATE INDEX attempts_by_pipeline ON tidemark.attempts (pipeline, seq);
