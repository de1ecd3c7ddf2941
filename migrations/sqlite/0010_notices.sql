-- The state that each receiver of notifications was last told, by pipeline and
-- topic. Times are microseconds since 1970 UTC.

CREATE TABLE notices (
	target TEXT NOT NULL,          -- the receiver, by a hash of its address
	pipeline TEXT NOT NULL,
	topic TEXT NOT NULL,           -- health, letters
	state TEXT NOT NULL,           -- as it was told
	changed_at INTEGER NOT NULL,
	claim TEXT NOT NULL,           -- of the process that tells it now; or ''
	claim_until INTEGER NOT NULL,  -- until then nobody else tells it
	tries INTEGER NOT NULL,        -- that have failed since
	PRIMARY KEY (target, pipeline, topic)
) WITHOUT ROWID;
