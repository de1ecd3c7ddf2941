-- Rows by their keys, or of a window of the past: such an attempt says nothing
-- of how the runs of its pipeline go.

ALTER TABLE tidemark.attempts ADD COLUMN aside bigint NOT NULL DEFAULT 0;  -- 1: it is one
UPDATE tidemark.attempts SET aside = 1
WHERE watermark_before IS NOT NULL AND watermark_after IS NULL;
