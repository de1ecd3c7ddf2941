-- The next chunk is found without looking at all that wait.

CREATE INDEX chunks_queued ON tidemark.chunks
	(pipeline, config, queued_at, backfill_id, number)
	WHERE state = 'queued';
