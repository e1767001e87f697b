-- Threads whose time may end. The functions on whole threads are in functions/ (threads.sql).

-- When threads end by themselves. A table of its own: an index on a column of `threads` would make every run's updates of
-- its thread dearer (no HOT). No foreign key either, which every end of a stateless run would pay for: the sweeper removes
-- what is left of threads that went another way.
create table thread_ttls (
  thread_id uuid primary key,
  strategy text not null check (strategy in ('delete', 'keep_latest')),
  ttl_minutes double precision not null check (ttl_minutes > 0),
  expires_at timestamptz not null
);
create index thread_ttls_by_time on thread_ttls (expires_at);

-- `checkpointer.ttl` of the server that started last; no row: threads stay. In the database, so that a thread gets its time
-- however it is made, by a run as well.
create table default_thread_ttl (
  is_only_row boolean primary key default true check (is_only_row),
  strategy text not null check (strategy in ('delete', 'keep_latest')),
  ttl_minutes double precision not null check (ttl_minutes > 0)
);

create function give_default_ttl() returns trigger language plpgsql as 'begin return null; end'; -- functions/ has its text.
create trigger threads_give_default_ttl after insert on threads
  for each row when (not new.is_ephemeral) execute function give_default_ttl();
