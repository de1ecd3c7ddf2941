-- Rows by their keys, or of a window of the past: such an attempt says nothing
-- of how the runs of its pipeline go.

ALTER TABLE attempts ADD COLUMN aside INTEGER NOT NULL DEFAULT 0;  -- 1: it is one
UPDATE attempts SET aside = 1
WHERE watermark_before IS NOT NULL AND watermark_after IS NULL;
