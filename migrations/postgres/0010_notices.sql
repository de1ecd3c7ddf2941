-- The state that each receiver of notifications was last told, by pipeline and
-- topic. Times are microseconds since 1970 UTC.

CREATE TABLE tidemark.notices (
	target text NOT NULL,          -- the receiver, by a hash of its address
	pipeline text NOT NULL,
	topic text NOT NULL,           -- health, letters
	state text NOT NULL,           -- as it was told
	changed_at bigint NOT NULL,
	claim text NOT NULL,           -- of the process that tells it now; or ''
	claim_until bigint NOT NULL,   -- until then nobody else tells it
	tries bigint NOT NULL,         -- that have failed since
	PRIMARY KEY (target, pipeline, topic)
);
