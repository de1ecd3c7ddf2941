-- Rows that the destination refused. Times are microseconds since 1970 UTC.

CREATE TABLE tidemark.dead_letters (
	id text PRIMARY KEY,              -- of pipeline and key: a row has one
	pipeline text NOT NULL,
	run_id text NOT NULL,
	attempt_id text NOT NULL,
	batch_id text NOT NULL,
	row_key text NOT NULL,            -- JSON
	key_digest text NOT NULL,         -- '': the table has no key
	row_json text NOT NULL,
	truncated bigint NOT NULL,        -- 1: of long values only the beginning
	row_digest text NOT NULL,
	category text NOT NULL CHECK (category IN ('permanent', 'transient', 'unknown')),
	error_code text NOT NULL,
	server_code text NOT NULL,        -- '': none
	error_message text NOT NULL,
	checkpoint text,                  -- the mark before its batch, JSON
	attempts bigint NOT NULL,
	next_try_at bigint,               -- NULL: not by itself
	created_at bigint NOT NULL,
	updated_at bigint NOT NULL
);
CREATE INDEX dead_letters_by_pipeline ON tidemark.dead_letters (pipeline, created_at);

ALTER TABLE tidemark.batches ADD COLUMN rows_dead_lettered bigint NOT NULL DEFAULT 0;
