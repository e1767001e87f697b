-- Functions on whole threads: time to live, deletion, pruning.

-- Trigger: gives a new thread the default time to live.
create or replace function give_default_ttl() returns trigger language plpgsql as $$
begin
  -- A thread with this id may have been removed without `delete_thread`.
  delete from thread_ttls where thread_id = new.thread_id;
  insert into thread_ttls (thread_id, strategy, ttl_minutes, expires_at)
    select new.thread_id, strategy, ttl_minutes, now() + make_interval(secs => ttl_minutes * 60) from default_thread_ttl;
  return null;
end
$$;

-- Deletes a thread and everything that belongs to it; many checkpoints are left to `remove_portion`. A run in flight is asked to stop; later writes of its worker name a run that
-- no longer exists, so they are rejected (R4). Returns the runs that were in flight, whose streams must be ended; null when
-- there is no such thread.
create or replace function delete_thread(_thread_id uuid) returns uuid[] language plpgsql as $$
declare
  _in_flight uuid[];
begin
  perform from threads where thread_id = _thread_id for update;
  if not found then
    return null;
  end if;
  -- A writer holds a lock on its run: once all locks are held, all its writes are visible below.
  perform from runs where thread_id = _thread_id order by run_id for update;
  _in_flight := array(select run_id from runs where thread_id = _thread_id and status in ('pending', 'running'));
  perform delete_checkpoints(_thread_id);
  delete from thread_ttls where thread_id = _thread_id;
  delete from threads where thread_id = _thread_id;
  return _in_flight;
end
$$;

-- Deletes a thread like `delete_thread`. stopping: the running run, whose server must be notified (`running_run`).
-- No row: there is no such thread.
create or replace function remove_thread(_thread_id uuid) returns table (in_flight uuid[], stopping jsonb) language plpgsql as $$
declare
  _stopping jsonb;
begin
  perform from threads where thread_id = _thread_id for update;
  if not found then
    return;
  end if;
  perform from runs where thread_id = _thread_id order by run_id for update;
  _stopping := running_run(_thread_id);
  return query select delete_thread(_thread_id), _stopping;
end
$$;

-- Removes older checkpoints, so that the newest one of each namespace stays, with the data that it needs. One call marks at most so many
-- checkpoints, the oldest first, and removes rows until so many bytes are reached; after each call the thread is whole, with a shorter
-- history. skipped: a run is in flight, which may have started from any of them, or there is no such thread.
-- Returns skipped | more | done
create or replace function prune_checkpoints(_thread_id uuid, _most_rows integer, _most_bytes bigint) returns text
language plpgsql as $$
declare
  _is_all_marked boolean;
  _are_all_writes boolean;
  _are_all_blobs boolean;
begin
  -- An update, not only a lock: an update of the thread's state checks for a new version of the thread (threads/README, T1).
  update threads set updated_at = updated_at where thread_id = _thread_id;
  if not found or is_in_flight(_thread_id) then
    return 'skipped';
  end if;
  with newest as materialized (
    select distinct on (c.checkpoint_ns) c.checkpoint_ns, c.checkpoint_id from checkpoints c
    where c.thread_id = _thread_id::text and not c.is_replay_only
    order by c.checkpoint_ns, c.seq desc, c.checkpoint_id desc),
  first as (
    select c.ctid as place, c.seq, c.checkpoint_id, (
        select coalesce(sum(octet_length(w.blob)), 0) from checkpoint_writes w
        where w.thread_id = c.thread_id and w.checkpoint_ns = c.checkpoint_ns and w.checkpoint_id = c.checkpoint_id) as size
    from checkpoints c
    where c.thread_id = _thread_id::text and not c.is_replay_only
      and (c.checkpoint_ns, c.checkpoint_id) not in (select checkpoint_ns, checkpoint_id from newest)
    order by c.seq, c.checkpoint_id limit _most_rows),
  portion as (
    select place, sum(size) over (order by seq, checkpoint_id rows unbounded preceding) - size as bytes_before from first),
  marked as (
    update checkpoints set is_replay_only = true
    where ctid = any (array(select place from portion where bytes_before < _most_bytes)) returning true)
  select count(*) < _most_rows and count(*) = (select count(*) from marked) into _is_all_marked from portion;
  perform drop_unneeded_checkpoints(_thread_id::text, null);
  update checkpoints set parent_checkpoint_id = null
    where thread_id = _thread_id::text and parent_checkpoint_id is not null
      and (select true from checkpoint_at(thread_id, checkpoint_ns, parent_checkpoint_id)) is null;
  with first as (
    select w.ctid as place, octet_length(w.blob) as size from checkpoint_writes w
    where w.thread_id = _thread_id::text and (w.checkpoint_ns, w.checkpoint_id) not in (
      select checkpoint_ns, checkpoint_id from checkpoints where thread_id = _thread_id::text)
    limit _most_rows),
  portion as (select place, sum(size) over (rows unbounded preceding) - size as bytes_before from first),
  gone as (
    delete from checkpoint_writes where ctid = any (array(select place from portion where bytes_before < _most_bytes)) returning true)
  select count(*) < _most_rows and count(*) = (select count(*) from gone) into _are_all_writes from portion;
  with first as (
    select b.ctid as place, coalesce(octet_length(b.blob), 0) as size from checkpoint_blobs b
    where b.thread_id = _thread_id::text and (b.checkpoint_ns, b.channel, b.version) not in (
      select c.checkpoint_ns, v.key, v.value
      from checkpoints c cross join jsonb_each_text(c.checkpoint -> 'channel_versions') as v
      where c.thread_id = _thread_id::text and v.value is not null)
    limit _most_rows),
  portion as (select place, sum(size) over (rows unbounded preceding) - size as bytes_before from first),
  gone as (
    delete from checkpoint_blobs where ctid = any (array(select place from portion where bytes_before < _most_bytes)) returning true)
  select count(*) < _most_rows and count(*) = (select count(*) from gone) into _are_all_blobs from portion;
  return case when _is_all_marked and _are_all_writes and _are_all_blobs then 'done' else 'more' end;
end
$$;

-- Deletes or prunes one thread whose time to live is over; concurrent sweepers take different threads. A thread with a run in flight
-- is skipped. No row: no thread has expired.
-- outcome: deleted | pruned | partly (the next call goes on) | skipped (a run was created in the meantime)
create or replace function sweep_thread() returns table (thread_id uuid, outcome text) language plpgsql as $$
#variable_conflict use_column
declare
  _due thread_ttls;
  _outcome text;
begin
  select l.* into _due from thread_ttls l join threads t on t.thread_id = l.thread_id
    where l.expires_at <= now() and not is_in_flight(l.thread_id)
    order by l.expires_at limit 1
    for update of l, t skip locked;
  if not found then
    return;
  end if;
  if is_in_flight(_due.thread_id) then
    return query select _due.thread_id, 'skipped';
  elsif _due.strategy = 'delete' then
    perform delete_thread(_due.thread_id);
    return query select _due.thread_id, 'deleted';
  else
    _outcome := prune_checkpoints(_due.thread_id, 5000, 16 * 1024 * 1024);
    if _outcome = 'more' then
      return query select _due.thread_id, 'partly';
      return;
    end if;
    update thread_ttls l set expires_at = now() + make_interval(secs => l.ttl_minutes * 60)
      where l.thread_id = _due.thread_id;
    return query select _due.thread_id, 'pruned';
  end if;
end
$$;
