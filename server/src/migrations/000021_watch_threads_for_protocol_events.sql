-- Until when a thread is followed by clients of the newer streaming protocol, so that its runs have protocol events
-- (docs/decisions/0040-protocol-events-are-made-by-the-worker-and-kept-in-the-threads-log.md). Null: by none.
alter table watched_threads add column protocol_until timestamptz;
