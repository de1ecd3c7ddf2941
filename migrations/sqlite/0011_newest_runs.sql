-- Which run took a lease last, whatever else has taken it since; and who has
-- set a pace.

ALTER TABLE leases ADD COLUMN ran_at INTEGER NOT NULL DEFAULT 0;    -- 0: never
ALTER TABLE leases ADD COLUMN ran_open INTEGER NOT NULL DEFAULT 0;  -- 1: it has not come to its end
UPDATE leases SET ran_at = since;

ALTER TABLE paces ADD COLUMN changed_by TEXT NOT NULL DEFAULT '';
