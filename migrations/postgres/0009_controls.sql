-- Wishes of people about pipelines. Times are microseconds since 1970 UTC.

CREATE TABLE tidemark.controls (
	pipeline text PRIMARY KEY,
	paused_at bigint NOT NULL,  -- 0: it is not paused
	paused_by text NOT NULL,
	reason text NOT NULL,
	asked_at bigint NOT NULL,   -- for a run that nobody has begun yet; 0: none
	asked_by text NOT NULL
);

-- Who did what, and when.
CREATE TABLE tidemark.control_events (
	event_id text PRIMARY KEY,
	at bigint NOT NULL,
	pipeline text NOT NULL,
	who text NOT NULL,
	what text NOT NULL,         -- pause, resume, run, pace, replay, discard
	detail text NOT NULL
);
CREATE INDEX control_events_by_pipeline ON tidemark.control_events (pipeline, at);
