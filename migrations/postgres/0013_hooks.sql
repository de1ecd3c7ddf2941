-- Is load.after of a pipeline still to be run? Each run that loads rows adds
-- one before it does. 0: no. Without a row nobody knows.
CREATE TABLE tidemark.hooks (
	pipeline text PRIMARY KEY,
	owed bigint NOT NULL
);

-- Statements of load.before and load.after that attempts have run.
CREATE TABLE tidemark.hook_runs (
	attempt_id text NOT NULL,
	hook text NOT NULL,         -- before, after
	number bigint NOT NULL,     -- of the statement, from 1
	started_at bigint NOT NULL, -- microseconds since 1970 UTC
	ended_at bigint NOT NULL,
	error_message text,
	PRIMARY KEY (attempt_id, hook, number)
);
