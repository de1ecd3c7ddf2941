-- What holds the worker of a chunk that is under way: {"by","reason","since"},
-- or NULL, as in attempts.
ALTER TABLE tidemark.chunks ADD COLUMN paused text;
