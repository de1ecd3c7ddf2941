-- Run history and the mirror of marks. Times are microseconds since 1970 UTC.

CREATE TABLE runs (
	run_id TEXT PRIMARY KEY NOT NULL,
	pipeline TEXT NOT NULL,
	tenant TEXT NOT NULL,
	logic_version INTEGER NOT NULL,
	window_from TEXT,  -- the mark it starts at, JSON
	window_to TEXT,    -- the mark it came to
	state TEXT NOT NULL CHECK (state IN ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED')),
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
);

CREATE TABLE attempts (
	attempt_id TEXT PRIMARY KEY NOT NULL,
	run_id TEXT NOT NULL REFERENCES runs (run_id),
	pipeline TEXT NOT NULL,
	tenant TEXT NOT NULL,
	state TEXT NOT NULL CHECK (state IN ('RUNNING', 'SUCCEEDED', 'FAILED')),
	outcome TEXT NOT NULL,
	host TEXT NOT NULL,
	pid INTEGER NOT NULL,
	process_start TEXT NOT NULL,  -- boot and start of the process: a pid comes again
	logic_version INTEGER NOT NULL,
	started_at INTEGER NOT NULL,
	ended_at INTEGER NOT NULL,    -- 0: not yet
	heartbeat_at INTEGER NOT NULL,
	batches INTEGER NOT NULL,
	rows_read INTEGER NOT NULL,
	rows_inserted INTEGER NOT NULL,
	rows_updated INTEGER NOT NULL,
	rows_unchanged INTEGER NOT NULL,
	rows_deleted INTEGER NOT NULL,
	rows_dead_lettered INTEGER NOT NULL,
	watermark_before TEXT,
	watermark_after TEXT,
	guarantee TEXT NOT NULL,
	guarantee_reason TEXT NOT NULL,
	error_code TEXT,
	error_message TEXT
);
CREATE INDEX attempts_by_pipeline ON attempts (pipeline, started_at);
CREATE INDEX attempts_by_time ON attempts (started_at);
CREATE INDEX attempts_by_run ON attempts (run_id);
CREATE INDEX attempts_running ON attempts (pipeline) WHERE state = 'RUNNING';

CREATE TABLE batches (
	attempt_id TEXT NOT NULL REFERENCES attempts (attempt_id),
	number INTEGER NOT NULL,      -- from 1 in the attempt
	batch_id TEXT NOT NULL,
	pipeline TEXT NOT NULL,
	watermark TEXT,
	rows_read INTEGER NOT NULL,
	rows_inserted INTEGER NOT NULL,
	rows_updated INTEGER NOT NULL,
	rows_unchanged INTEGER NOT NULL,
	rows_deleted INTEGER NOT NULL,
	read_us INTEGER NOT NULL,
	load_us INTEGER NOT NULL,
	loaded_at INTEGER NOT NULL,
	PRIMARY KEY (attempt_id, number)
) WITHOUT ROWID;

CREATE TABLE watermarks (
	pipeline TEXT PRIMARY KEY NOT NULL,
	watermark TEXT,
	updated_at INTEGER NOT NULL
) WITHOUT ROWID;
