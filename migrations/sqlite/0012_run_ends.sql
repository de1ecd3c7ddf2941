-- Between which tables the newest run of a lease's pipeline was, as its config
-- says: two configs may name one pipeline.

ALTER TABLE leases ADD COLUMN ran_ends TEXT NOT NULL DEFAULT '';  -- '': not known
