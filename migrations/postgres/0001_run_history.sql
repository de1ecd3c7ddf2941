-- Run history and the mirror of marks. Times are microseconds since 1970 UTC.

CREATE TABLE tidemark.runs (
	run_id text PRIMARY KEY,
	pipeline text NOT NULL,
	tenant text NOT NULL,
	logic_version bigint NOT NULL,
	window_from text,  -- the mark it starts at, JSON
	window_to text,    -- the mark it came to
	state text NOT NULL CHECK (state IN ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED')),
	created_at bigint NOT NULL,
	updated_at bigint NOT NULL
);

CREATE TABLE tidemark.attempts (
	attempt_id text PRIMARY KEY,
	run_id text NOT NULL REFERENCES tidemark.runs (run_id),
	pipeline text NOT NULL,
	tenant text NOT NULL,
	state text NOT NULL CHECK (state IN ('RUNNING', 'SUCCEEDED', 'FAILED')),
	outcome text NOT NULL,
	host text NOT NULL,
	pid bigint NOT NULL,
	process_start text NOT NULL,  -- boot and start of the process: a pid comes again
	logic_version bigint NOT NULL,
	started_at bigint NOT NULL,
	ended_at bigint NOT NULL,     -- 0: not yet
	heartbeat_at bigint NOT NULL,
	batches bigint NOT NULL,
	rows_read bigint NOT NULL,
	rows_inserted bigint NOT NULL,
	rows_updated bigint NOT NULL,
	rows_unchanged bigint NOT NULL,
	rows_deleted bigint NOT NULL,
	rows_dead_lettered bigint NOT NULL,
	watermark_before text,
	watermark_after text,
	guarantee text NOT NULL,
	guarantee_reason text NOT NULL,
	error_code text,
	error_message text
);
CREATE INDEX attempts_by_pipeline ON tidemark.attempts (pipeline, started_at);
CREATE INDEX attempts_by_time ON tidemark.attempts (started_at);
CREATE INDEX attempts_by_run ON tidemark.attempts (run_id);
CREATE INDEX attempts_running ON tidemark.attempts (pipeline) WHERE state = 'RUNNING';

CREATE TABLE tidemark.batches (
	attempt_id text NOT NULL REFERENCES tidemark.attempts (attempt_id),
	number bigint NOT NULL,       -- from 1 in the attempt
	batch_id text NOT NULL,
	pipeline text NOT NULL,
	watermark text,
	rows_read bigint NOT NULL,
	rows_inserted bigint NOT NULL,
	rows_updated bigint NOT NULL,
	rows_unchanged bigint NOT NULL,
	rows_deleted bigint NOT NULL,
	read_us bigint NOT NULL,
	load_us bigint NOT NULL,
	loaded_at bigint NOT NULL,
	PRIMARY KEY (attempt_id, number)
);

CREATE TABLE tidemark.watermarks (
	pipeline text PRIMARY KEY,
	watermark text,
	updated_at bigint NOT NULL
);
