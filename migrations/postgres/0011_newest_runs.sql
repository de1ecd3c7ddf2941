-- Which run took a lease last, whatever else has taken it since; and who has
-- set a pace.

ALTER TABLE tidemark.leases ADD COLUMN ran_at bigint NOT NULL DEFAULT 0;    -- 0: never
ALTER TABLE tidemark.leases ADD COLUMN ran_open bigint NOT NULL DEFAULT 0;  -- 1: it has not come to its end
UPDATE tidemark.leases SET ran_at = since;

ALTER TABLE tidemark.paces ADD COLUMN changed_by text NOT NULL DEFAULT '';
