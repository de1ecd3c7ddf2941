-- Is load.after of a pipeline still to be run? Each run that loads rows adds
-- one before it does. 0: no. Without a row nobody knows.
CREATE TABLE hooks (
	pipeline TEXT PRIMARY KEY NOT NULL,
	owed INTEGER NOT NULL
) WITHOUT ROWID;

-- Statements of load.before and load.after that attempts have run.
CREATE TABLE hook_runs (
	attempt_id TEXT NOT NULL,
	hook TEXT NOT NULL,          -- before, after
	number INTEGER NOT NULL,     -- of the statement, from 1
	started_at INTEGER NOT NULL, -- microseconds since 1970 UTC
	ended_at INTEGER NOT NULL,
	error_message TEXT,
	PRIMARY KEY (attempt_id, hook, number)
) WITHOUT ROWID;
