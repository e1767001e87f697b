-- Checkpoints and their writes, fenced by claims (server/src/checkpoints/journal.ts, K1–K10).

-- Locks a claim until the transaction ends, so that no other server takes the run before the writes are committed. A write of the API
-- has no run and needs no claim. False: the claim was lost.
create or replace function hold_claim(_run_id uuid, _claim_id uuid) returns boolean language plpgsql as $$
begin
  if _run_id is null then
    return true;
  end if;
  perform from runs where run_id = _run_id and claim_id = _claim_id for share;
  return found;
end
$$;

-- Whether commits that an attempt knows of are missing: a standby was promoted that did not have them, or a backup was restored. Commits
-- are lost from the last one on, so the last checkpoint or write and the last event are enough.
create or replace function has_lost_commits(
  _run_id uuid, _thread_id text, _checkpoint_ns text, _checkpoint_id text, _task_id text, _idx integer, _seq bigint
) returns boolean language plpgsql stable as $$
begin
  -- Not one condition: with the constants in it Postgres would plan the looks each time.
  if _checkpoint_id is not null and _task_id is null then
    if not exists (select from checkpoints
        where thread_id = _thread_id and checkpoint_ns = _checkpoint_ns and checkpoint_id = _checkpoint_id) then
      return true;
    end if;
  elsif _checkpoint_id is not null then
    if not exists (select from checkpoint_writes
        where thread_id = _thread_id and checkpoint_ns = _checkpoint_ns and checkpoint_id = _checkpoint_id
          and task_id = _task_id and idx = _idx) then
      return true;
    end if;
  end if;
  if _seq is not null then
    return not exists (select from run_events where run_id = _run_id and seq = _seq);
  end if;
  return false;
end
$$;

-- Gives a run back from which an attempt has lost commits: the next attempt goes on from what is left. `_attempt` is that attempt's number.
-- When the claim itself was lost, its number was given again or will be: then the run gets a higher one, so that no two events have
-- one id.
create or replace function give_back_after_loss(_run_id uuid, _claim_id uuid, _attempt integer) returns void language plpgsql as $$
#variable_conflict use_column
declare
  _holder uuid := _claim_id;
begin
  if not exists (select from runs where run_id = _run_id and claim_id = _claim_id) then
    update runs set attempt = _attempt
      where run_id = _run_id and ((status = 'pending' and attempt < _attempt) or (status = 'running' and attempt <= _attempt))
      returning claim_id into _holder;
  end if;
  if _holder is not null then
    perform requeue_run(_run_id, _holder, 'handed_back', null, 2147483647, null);
  end if;
end
$$;

-- Commits the writes of several runs in one transaction: a commit and a round trip cost more than the rows (docs/performance.md).
-- `_claims`: a list of `{n, run_id, claim_id, attempt, saved_thread_id, saved_ns, saved_id, logged_seq, thread_id, ending}`, of which
-- `saved_*` and `logged_seq` are what the attempt knows to be committed (K8); an entry without a run is a write of the API, which is not
-- fenced. `ending` (`{status, thread_status, error, values, interrupts}`) finishes the run after its other writes.
-- `_rows`: `{checkpoints, blobs, writes, replacing, log, events}`, each row with the number of its claim. A text or value is a range
-- `{start, size}` of `_bytes`, counted from 1; null means no value. `log` are events of runs with a log. `events` are their last ones, given
-- for each outcome of the end. They are committed with it, so no client waits for the end of a run whose server died at that moment, and
-- no event of the thread's next run precedes it.
-- `_lock_ms`: how long to wait for each lock (55P03 then); 0: as long as the statement may take.
-- outcome: held | claim_lost (nothing of that claim was written) | finished | rolled_back
-- waiting: the next run of the thread of a run that has ended (`startable_run`)
-- places: `[seq, position]` of each row of `log` that was appended; of a lost claim, of each that an earlier call has appended
-- place_before: the position of the last event in the thread's log before them, -1 for none
create or replace function commit_attempts(_claims json, _rows json, _bytes bytea, _lock_ms integer)
returns table (claim integer, outcome text, watched_by uuid[], waiting jsonb, places jsonb, place_before bigint)
language plpgsql as $$
#variable_conflict use_column
declare
  _claim record;
  _end record;
  _held integer[] := '{}';
  _has_log boolean := json_array_length(_rows -> 'log') > 0;
  _has_events boolean := json_array_length(_rows -> 'events') > 0;
  _places_before jsonb;
  _places jsonb;
begin
  if _lock_ms > 0 then
    perform set_config('lock_timeout', _lock_ms::text, true);
  end if;
  -- Threads first, then runs, each in order, as everywhere (runs.sql). One by one, so that each is found by its key, with any
  -- statistics of the planner.
  for _claim in
    select thread_id from json_to_recordset(_claims) as c (thread_id uuid, ending json) where ending is not null
    order by thread_id
  loop
    perform from threads t where t.thread_id = _claim.thread_id for update;
  end loop;
  for _claim in
    select * from json_to_recordset(_claims) as c (n integer, run_id uuid, claim_id uuid, attempt integer, saved_thread_id text,
      saved_ns text, saved_id text, saved_task_id text, saved_idx integer, logged_seq bigint) order by run_id
  loop
    if _claim.run_id is not null then
      perform from runs r where r.run_id = _claim.run_id and r.claim_id = _claim.claim_id for update;
    end if;
    if _claim.run_id is null or (found and not has_lost_commits(
        _claim.run_id, _claim.saved_thread_id, _claim.saved_ns, _claim.saved_id, _claim.saved_task_id, _claim.saved_idx,
        _claim.logged_seq)) then
      _held := _held || _claim.n;
    elsif _claim.attempt is not null then
      perform give_back_after_loss(_claim.run_id, _claim.claim_id, _claim.attempt);
    end if;
  end loop;

  if json_array_length(_rows -> 'blobs') > 0 then
    insert into checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
      select thread_id, checkpoint_ns, channel, version, type, substring(_bytes from start for size)
      from json_to_recordset(_rows -> 'blobs') as new (claim integer, thread_id text, checkpoint_ns text, channel text,
        version text, type text, start integer, size integer)
      where claim = any (_held)
      on conflict do nothing;
  end if;
  if json_array_length(_rows -> 'checkpoints') > 0 then
    insert into checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
      select thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id,
        convert_from(substring(_bytes from start for size), 'UTF8')::jsonb,
        convert_from(substring(_bytes from metadata_start for metadata_size), 'UTF8')::jsonb
          || case when run_id is null then '{}' else jsonb_build_object('run_id', run_id) end
      from json_to_recordset(_rows -> 'checkpoints') as new (claim integer, run_id uuid, thread_id text,
        checkpoint_ns text, checkpoint_id text, parent_checkpoint_id text, start integer, size integer,
        metadata_start integer, metadata_size integer)
      where claim = any (_held)
      on conflict (thread_id, checkpoint_ns, checkpoint_id) do update
        set checkpoint = excluded.checkpoint, metadata = excluded.metadata;
  end if;
  -- Writes of nodes keep their first value; LangGraph's own writes replace earlier ones (C4).
  if json_array_length(_rows -> 'writes') > 0 then
    insert into checkpoint_writes
        (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob, run_id)
      select thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type,
        substring(_bytes from start for size), run_id
      from json_to_recordset(_rows -> 'writes') as new (claim integer, run_id uuid, thread_id text, checkpoint_ns text,
        checkpoint_id text, task_id text, task_path text, idx integer, channel text, type text, start integer,
        size integer)
      where claim = any (_held)
      on conflict do nothing;
  end if;
  if json_array_length(_rows -> 'replacing') > 0 then
    insert into checkpoint_writes
        (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob, run_id)
      select thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type,
        substring(_bytes from start for size), run_id
      from json_to_recordset(_rows -> 'replacing') as new (claim integer, run_id uuid, thread_id text,
        checkpoint_ns text, checkpoint_id text, task_id text, task_path text, idx integer, channel text, type text,
        start integer, size integer)
      where claim = any (_held)
      on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) do update
        set channel = excluded.channel, type = excluded.type, blob = excluded.blob, run_id = excluded.run_id;
  end if;

  if _has_log or _has_events then
    _places_before := lock_thread_logs_at_end(array(
      select distinct thread_id from json_to_recordset(_claims) as c (n integer, thread_id uuid)
      where n = any (_held) and n in (
        select claim from json_to_recordset(_rows -> 'log') as e (claim integer)
        union all select claim from json_to_recordset(_rows -> 'events') as e (claim integer))));
  end if;
  if _has_log then
    with given as (
      select e.claim, c.run_id, c.thread_id, e.seq, e.event, e.start, e.size
      from json_to_recordset(_rows -> 'log') as e (claim integer, seq bigint, event text, start integer, size integer)
        join json_to_recordset(_claims) as c (n integer, run_id uuid, thread_id uuid) on c.n = e.claim),
    added as (
      insert into run_events (run_id, thread_id, seq, event, data)
        select run_id, thread_id, seq, event, convert_from(substring(_bytes from start for size), 'UTF8')
        from given where claim = any (_held) order by claim, seq
        on conflict do nothing
        returning run_id, seq, position),
    found as (
      select run_id, seq, position from added
      union all
      select e.run_id, e.seq, e.position from given g join run_events e on e.run_id = g.run_id and e.seq = g.seq
      where g.claim <> all (_held))
    select jsonb_object_agg(of_run.run_id, of_run.places) into _places
      from (select run_id, jsonb_agg(jsonb_build_array(seq, position) order by seq) as places from found group by run_id) of_run;
  end if;
  for _claim in
    select * from json_to_recordset(_claims) as c (n integer, run_id uuid, claim_id uuid, thread_id uuid, ending json)
  loop
    if not _claim.n = any (_held) then
      return query select _claim.n, 'claim_lost', '{}'::uuid[], null::jsonb, _places -> _claim.run_id::text, null::bigint;
    elsif _claim.ending is null then
      return query select _claim.n, 'held', '{}'::uuid[], null::jsonb, _places -> _claim.run_id::text,
        (_places_before ->> _claim.thread_id::text)::bigint;
    else
      select f.outcome, f.watched_by, f.waiting into strict _end
        from json_to_record(_claim.ending) as e (status text, thread_status text, error_start integer,
            error_size integer, values_start integer, values_size integer, interrupts_start integer,
            interrupts_size integer),
          end_run(_claim.run_id, _claim.claim_id, e.status,
            convert_from(substring(_bytes from e.error_start for e.error_size), 'UTF8')::json,
            convert_from(substring(_bytes from e.values_start for e.values_size), 'UTF8')::json,
            convert_from(substring(_bytes from e.interrupts_start for e.interrupts_size), 'UTF8')::json,
            e.thread_status) f;
      if _has_events and _end.outcome in ('finished', 'rolled_back') then
        insert into run_events (run_id, thread_id, seq, event, data)
          select _claim.run_id, _claim.thread_id, seq, event, convert_from(substring(_bytes from start for size), 'UTF8')
          from json_to_recordset(_rows -> 'events') as new (claim integer, outcome text, seq bigint, event text, start integer,
            size integer)
          where claim = _claim.n and coalesce(outcome, 'finished') = _end.outcome order by seq
          on conflict do nothing;
      end if;
      return query select _claim.n, _end.outcome, _end.watched_by, _end.waiting, _places -> _claim.run_id::text,
        (_places_before ->> _claim.thread_id::text)::bigint;
    end if;
  end loop;
end
$$;

-- Deletes checkpoints of a thread that is gone: of each table at most so many rows, and rows until so many bytes are reached.
-- Returns whether nothing is left.
create or replace function delete_portion(_thread_id text, _most_rows integer, _most_bytes bigint) returns boolean
language plpgsql as $$
declare
  _is_all boolean;
  _is_everything boolean := true;
begin
  with first as (
    select ctid as place, octet_length(blob) as size from checkpoint_writes where thread_id = _thread_id limit _most_rows),
  portion as (select place, sum(size) over (rows unbounded preceding) - size as bytes_before from first),
  gone as (
    delete from checkpoint_writes where ctid = any (array(select place from portion where bytes_before < _most_bytes)) returning true)
  select count(*) < _most_rows and count(*) = (select count(*) from gone) into _is_all from portion;
  _is_everything := _is_everything and _is_all;
  with first as (
    select ctid as place, coalesce(octet_length(blob), 0) as size from checkpoint_blobs where thread_id = _thread_id limit _most_rows),
  portion as (select place, sum(size) over (rows unbounded preceding) - size as bytes_before from first),
  gone as (
    delete from checkpoint_blobs where ctid = any (array(select place from portion where bytes_before < _most_bytes)) returning true)
  select count(*) < _most_rows and count(*) = (select count(*) from gone) into _is_all from portion;
  _is_everything := _is_everything and _is_all;
  with first as (
    select ctid as place, pg_column_size(checkpoint) + pg_column_size(metadata) as size from checkpoints
    where thread_id = _thread_id limit _most_rows),
  portion as (select place, sum(size) over (rows unbounded preceding) - size as bytes_before from first),
  gone as (
    delete from checkpoints where ctid = any (array(select place from portion where bytes_before < _most_bytes)) returning true)
  select count(*) < _most_rows and count(*) = (select count(*) from gone) into _is_all from portion;
  return _is_everything and _is_all;
end
$$;

-- For a thread that is deleted in the same transaction; called by the queue's functions, so it needs no round trip of its own. The
-- caller has locked the thread and its runs, and waits: more than a small thread is left to `remove_portion`.
create or replace function delete_checkpoints(_thread_id uuid) returns void language plpgsql as $$
declare
  _id text := _thread_id::text;
begin
  -- A short run that takes its thread with it has saved nothing, and three looks cost a tenth of three removals.
  if exists (select from checkpoints where thread_id = _id) or exists (select from checkpoint_writes where thread_id = _id)
      or exists (select from checkpoint_blobs where thread_id = _id) then
    if not delete_portion(_id, 500, 1024 * 1024) then
      insert into removed_threads (thread_id) values (_thread_id) on conflict do nothing;
    end if;
  end if;
end
$$;

-- Removes a portion of what is left of one removed thread; concurrent callers take different threads. False: nothing is left of any.
create or replace function remove_portion() returns boolean language plpgsql as $$
declare
  _id uuid;
begin
  select r.thread_id into _id from removed_threads r where r.not_before <= now()
    order by r.not_before limit 1 for update skip locked;
  if not found then
    return false;
  end if;
  if delete_portion(_id::text, 5000, 16 * 1024 * 1024) then
    delete from removed_threads r where r.thread_id = _id;
  end if;
  return true;
end
$$;

-- For a run that is rolled back or deleted. Blobs are kept: older checkpoints share the table, and versions of this run are never
-- read again. A run that answered an interrupt also wrote to the checkpoint before it; the values that it replaced there are not
-- restored.
create or replace function delete_checkpoints_of_run(_thread_id uuid, _run_id uuid) returns void language plpgsql as $$
begin
  update checkpoints set is_replay_only = true
    where thread_id = _thread_id::text and metadata ->> 'run_id' = _run_id::text and not is_replay_only;
  -- A running run may have started from these checkpoints and not have saved one of its own yet. Then all data from which its
  -- state may be rebuilt is kept until the next removal.
  if exists (select from runs where thread_id = _thread_id and run_id <> _run_id and status = 'running')
      and exists (select from delta_channels(_thread_id::text)) then
    return;
  end if;
  perform drop_unneeded_checkpoints(_thread_id::text, _run_id);
end
$$;
