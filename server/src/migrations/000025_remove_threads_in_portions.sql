-- A thread of some gigabytes could not be deleted: one statement removed all of its checkpoints, and was rolled back at the time limit of
-- a request. Now the thread goes at once, and its checkpoints go in portions (threads/README, T3).

-- Threads that are gone and whose checkpoints are not yet. Also a copy that is not a thread yet: should its server die, they are removed.
create table removed_threads (
  thread_id uuid primary key,
  -- When the removal may begin.
  not_before timestamptz not null default now()
);

-- No thread gets the id of one whose checkpoints are still there. After the insert, so that it sees a removal that it waited for.
create function refuse_removed_thread() returns trigger language plpgsql as $$
begin
  if exists (select from removed_threads where thread_id = new.thread_id) then
    raise exception 'thread % is still being deleted', new.thread_id using errcode = 'lock_not_available';
  end if;
  return null;
end
$$;
create trigger threads_refuse_removed after insert on threads
  for each row when (not new.is_ephemeral) execute function refuse_removed_thread();
