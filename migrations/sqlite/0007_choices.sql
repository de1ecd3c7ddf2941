-- The tables that wildcards of the config have caught, and what was chosen for
-- each. Times are microseconds since 1970 UTC.

CREATE TABLE choices (
	pipeline TEXT PRIMARY KEY NOT NULL,
	wildcard TEXT NOT NULL,
	table_name TEXT NOT NULL,
	chosen TEXT,  -- key, watermark and load as the config has them, JSON; NULL: choose again
	changed_at INTEGER NOT NULL
) WITHOUT ROWID;
