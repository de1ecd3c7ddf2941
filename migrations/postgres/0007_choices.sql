-- The tables that wildcards of the config have caught, and what was chosen for
-- each. Times are microseconds since 1970 UTC.

CREATE TABLE tidemark.choices (
	pipeline text PRIMARY KEY,
	wildcard text NOT NULL,
	table_name text NOT NULL,
	chosen text,  -- key, watermark and load as the config has them, JSON; NULL: choose again
	changed_at bigint NOT NULL
);
