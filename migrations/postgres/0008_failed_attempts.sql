-- How a pipeline fares is told by its newest failed attempts, which are few.
CREATE INDEX attempts_failed ON tidemark.attempts (pipeline, seq) WHERE outcome = 'failed';
