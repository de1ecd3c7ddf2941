-- How gently runs read. Times are microseconds since 1970 UTC.

-- What holds a run that is under way: {"by","reason","since"}, or NULL; how
-- much of its window is done, in millionths, or -1.
ALTER TABLE tidemark.attempts ADD COLUMN paused text;
ALTER TABLE tidemark.attempts ADD COLUMN progress bigint NOT NULL DEFAULT -1;

-- Keys of `pace` that go before those of the config, as a JSON object.
CREATE TABLE tidemark.paces (
	pipeline text PRIMARY KEY,
	settings text NOT NULL,
	changed_at bigint NOT NULL
);
