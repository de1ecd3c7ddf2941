-- Backfills: the chunks that a window is cut into. Times are microseconds since
-- 1970 UTC. Who works on a chunk has the lease of its chunk_id.

CREATE TABLE chunks (
	chunk_id text PRIMARY KEY,        -- PIPELINE/BACKFILL/NUMBER
	backfill_id text NOT NULL,
	pipeline text NOT NULL,
	config text NOT NULL,             -- what shapes its rows
	column_name text NOT NULL,        -- whose values the ranges are
	window_from text,                 -- of the backfill; NULL: open
	window_to text,
	number bigint NOT NULL,           -- from 1
	range_from text,
	range_to text,
	nulls bigint NOT NULL,            -- 1: the rows without a value
	row_count bigint NOT NULL,        -- as counted; once done, as loaded
	state text NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed')),
	attempts bigint NOT NULL,
	holder text NOT NULL,             -- of the lease, in the last attempt
	checksum text,                    -- of both sides, once it is done
	error_code text,
	error_message text,
	queued_at bigint NOT NULL,
	started_at bigint NOT NULL,
	ended_at bigint NOT NULL
);
CREATE INDEX chunks_by_pipeline ON chunks (pipeline, state, number);
