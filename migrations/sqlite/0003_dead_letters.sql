-- Rows that the destination refused. Times are microseconds since 1970 UTC.

CREATE TABLE dead_letters (
	id TEXT PRIMARY KEY NOT NULL,    -- of pipeline and key: a row has one
	pipeline TEXT NOT NULL,
	run_id TEXT NOT NULL,
	attempt_id TEXT NOT NULL,
	batch_id TEXT NOT NULL,
	row_key TEXT NOT NULL,           -- JSON
	key_digest TEXT NOT NULL,        -- '': the table has no key
	row_json TEXT NOT NULL,
	truncated INTEGER NOT NULL,      -- 1: of long values only the beginning
	row_digest TEXT NOT NULL,
	category TEXT NOT NULL CHECK (category IN ('permanent', 'transient', 'unknown')),
	error_code TEXT NOT NULL,
	server_code TEXT NOT NULL,        -- '': none
	error_message TEXT NOT NULL,
	checkpoint TEXT,                 -- the mark before its batch, JSON
	attempts INTEGER NOT NULL,
	next_try_at INTEGER,             -- NULL: not by itself
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX dead_letters_by_pipeline ON dead_letters (pipeline, created_at);

ALTER TABLE batches ADD COLUMN rows_dead_lettered INTEGER NOT NULL DEFAULT 0;
