-- How gently runs read. Times are microseconds since 1970 UTC.

-- What holds a run that is under way: {"by","reason","since"}, or NULL; how
-- much of its window is done, in millionths, or -1.
ALTER TABLE attempts ADD COLUMN paused TEXT;
ALTER TABLE attempts ADD COLUMN progress INTEGER NOT NULL DEFAULT -1;

-- Keys of `pace` that go before those of the config, as a JSON object.
CREATE TABLE paces (
	pipeline TEXT PRIMARY KEY NOT NULL,
	settings TEXT NOT NULL,
	changed_at INTEGER NOT NULL
) WITHOUT ROWID;
