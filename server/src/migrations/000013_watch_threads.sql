-- The stream of a thread: its runs one after the other, for as long as a client stays (agent-server-api §5.14).

-- The event that begins a run names the run's thread; all others leave it out.
alter table run_events add column thread_id uuid;
create index run_events_that_begin_a_run on run_events (thread_id, created_at) where thread_id is not null;

-- Threads whose stream somebody follows, or may come back to: whoever executes a run of one logs its events.
create table watched_threads (
  thread_id uuid primary key references threads on delete cascade,
  until timestamptz not null
);
