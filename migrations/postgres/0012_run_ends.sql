-- Between which tables the newest run of a lease's pipeline was, as its config
-- says: two configs may name one pipeline.

ALTER TABLE tidemark.leases ADD COLUMN ran_ends text NOT NULL DEFAULT '';  -- '': not known
