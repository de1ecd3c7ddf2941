-- Wishes of people about pipelines. Times are microseconds since 1970 UTC.

CREATE TABLE controls (
	pipeline TEXT PRIMARY KEY NOT NULL,
	paused_at INTEGER NOT NULL,  -- 0: it is not paused
	paused_by TEXT NOT NULL,
	reason TEXT NOT NULL,
	asked_at INTEGER NOT NULL,   -- for a run that nobody has begun yet; 0: none
	asked_by TEXT NOT NULL
) WITHOUT ROWID;

-- Who did what, and when.
CREATE TABLE control_events (
	event_id TEXT PRIMARY KEY NOT NULL,
	at INTEGER NOT NULL,
	pipeline TEXT NOT NULL,
	who TEXT NOT NULL,
	what TEXT NOT NULL,         -- pause, resume, run, pace, replay, discard
	detail TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX control_events_by_pipeline ON control_events (pipeline, at);
