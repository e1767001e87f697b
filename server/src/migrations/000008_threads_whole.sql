-- What happens to whole threads: their time may end, they are deleted with runs in flight, copied and made smaller. Each is
-- a function or one statement, since it must see what happened while it waited for the thread's lock (000003).

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

create function give_default_ttl() returns trigger language plpgsql as $$
begin
  -- Of a thread that had this id before and went without `delete_thread`.
  delete from thread_ttls where thread_id = new.thread_id;
  insert into thread_ttls (thread_id, strategy, ttl_minutes, expires_at)
    select new.thread_id, strategy, ttl_minutes, now() + make_interval(secs => ttl_minutes * 60) from default_thread_ttl;
  return null;
end
$$;
create trigger threads_give_default_ttl after insert on threads
  for each row when (not new.is_ephemeral) execute function give_default_ttl();

create function is_in_flight(_thread_id uuid) returns boolean language sql stable as $$
  select exists (select from runs where thread_id = _thread_id and status in ('pending', 'running'))
$$;

-- Deletes a thread and all that is its own. A run in flight is asked to stop; whatever its worker still writes names a run
-- that is gone, so nothing of it is kept (R4). Returns the runs that were in flight, whose streams must be told; null when
-- there is no such thread.
create function delete_thread(_thread_id uuid) returns uuid[] language plpgsql as $$
declare
  _in_flight uuid[];
begin
  perform from threads where thread_id = _thread_id for update;
  if not found then
    return null;
  end if;
  -- Who is writing holds its run; behind these locks all that was written is seen below.
  perform from runs where thread_id = _thread_id order by run_id for update;
  _in_flight := array(select run_id from runs where thread_id = _thread_id and status in ('pending', 'running'));
  perform pg_notify('run_cancel', run_id::text) from runs where thread_id = _thread_id and status = 'running';
  perform delete_checkpoints(_thread_id);
  delete from thread_ttls where thread_id = _thread_id;
  delete from threads where thread_id = _thread_id;
  return _in_flight;
end
$$;

-- Keeps the newest checkpoint of each namespace and what it needs to go on. False when a run is in flight, which may have
-- begun at any of them, or there is no such thread.
create function keep_latest_checkpoints(_thread_id uuid) returns boolean language plpgsql as $$
begin
  -- An update and no mere lock: a new version of the thread is what an update of its state looks for (threads/README, T1).
  update threads set updated_at = updated_at where thread_id = _thread_id;
  if not found or is_in_flight(_thread_id) then
    return false;
  end if;
  delete from checkpoints c using (
      select checkpoint_ns, max(checkpoint_id) as checkpoint_id from checkpoints
      where thread_id = _thread_id::text group by checkpoint_ns) as newest
    where c.thread_id = _thread_id::text and c.checkpoint_ns = newest.checkpoint_ns
      and c.checkpoint_id < newest.checkpoint_id;
  update checkpoints set parent_checkpoint_id = null
    where thread_id = _thread_id::text and parent_checkpoint_id is not null;
  delete from checkpoint_writes w where w.thread_id = _thread_id::text and (w.checkpoint_ns, w.checkpoint_id) not in (
    select checkpoint_ns, checkpoint_id from checkpoints where thread_id = _thread_id::text);
  delete from checkpoint_blobs b where b.thread_id = _thread_id::text and (b.checkpoint_ns, b.channel, b.version) not in (
    select c.checkpoint_ns, v.key, v.value
    from checkpoints c cross join jsonb_each_text(c.checkpoint -> 'channel_versions') as v
    where c.thread_id = _thread_id::text and v.value is not null);
  return true;
end
$$;

-- Does what is due to one thread whose time is over; another sweeper takes another one. A thread with a run in flight is
-- left alone. No row: nothing is due.
-- outcome: deleted | pruned | skipped (a run came meanwhile)
create function sweep_thread() returns table (thread_id uuid, outcome text) language plpgsql as $$
#variable_conflict use_column
declare
  _due thread_ttls;
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
    perform keep_latest_checkpoints(_due.thread_id);
    update thread_ttls l set expires_at = now() + make_interval(secs => l.ttl_minutes * 60)
      where l.thread_id = _due.thread_id;
    return query select _due.thread_id, 'pruned';
  end if;
end
$$;

-- As in 000006, but a text without those escapes, which is nearly every one, is not rewritten: a search by state reads a
-- whole one for every thread. Not parallel safe, since an exception block begins a subtransaction.
create or replace function searchable(_value json) returns jsonb language plpgsql immutable strict parallel unsafe as $$
declare
  _text text := _value::text;
begin
  if strpos(_text, '\u0000') > 0 or strpos(_text, '\ud') > 0 or strpos(_text, '\uD') > 0 then
    _text := regexp_replace(_text, '(?<!\\)((?:\\\\)*)\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\1\\ufffd', 'g');
  end if;
  return _text::jsonb;
exception when others then
  return null;
end
$$;
