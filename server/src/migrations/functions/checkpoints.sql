-- Checkpoints and their writes, fenced by claims (server/src/checkpoints/README.md, K1–K7).

-- Locks a claim until the transaction ends, so that nobody takes the run over before the writes are committed. A write of the API
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

-- Writes what several runs have to write, in one transaction: a commit and a round trip cost more than the rows (docs/performance.md).
-- `_claims`: a list of `{n, run_id, claim_id, thread_id, ending}`; without a run it is a write of the API, which nothing
-- fences. `ending` (`{status, thread_status, error, values, interrupts}`) finishes the run after its other writes.
-- `_rows`: `{checkpoints, blobs, writes, replacing, events}`, each row with the number of its claim. A text or value is a range
-- `{start, size}` of `_bytes`, counted from 1; null is none. `events` are the last ones of runs with a log: they are committed with
-- the end, so nobody waits for the end of a run whose server died just then. A server of the release before sends none.
-- outcome: held | claim_lost (nothing of that claim was written) | finished | rolled_back
create or replace function write_claims(_claims json, _rows json, _bytes bytea)
returns table (claim integer, outcome text, watched_by uuid[]) language plpgsql as $$
#variable_conflict use_column
declare
  _claim record;
  _end record;
  _held integer[] := '{}';
begin
  -- Threads first, then runs, each in order, as everywhere (runs.sql). One by one: each is found by its key, whatever the
  -- planner believes about the size of the tables.
  for _claim in
    select thread_id from json_to_recordset(_claims) as c (thread_id uuid, ending json) where ending is not null
    order by thread_id
  loop
    perform from threads t where t.thread_id = _claim.thread_id for update;
  end loop;
  for _claim in
    select * from json_to_recordset(_claims) as c (n integer, run_id uuid, claim_id uuid) order by run_id
  loop
    if _claim.run_id is not null then
      perform from runs r where r.run_id = _claim.run_id and r.claim_id = _claim.claim_id for update;
    end if;
    if _claim.run_id is null or found then
      _held := _held || _claim.n;
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
  -- Writes of nodes stay as they were first saved; LangGraph's own replace what was there (C4).
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

  for _claim in
    select * from json_to_recordset(_claims) as c (n integer, run_id uuid, claim_id uuid, ending json)
  loop
    if not _claim.n = any (_held) then
      return query select _claim.n, 'claim_lost', '{}'::uuid[];
    elsif _claim.ending is null then
      return query select _claim.n, 'held', '{}'::uuid[];
    else
      select f.outcome, f.watched_by into strict _end
        from json_to_record(_claim.ending) as e (status text, thread_status text, error_start integer,
            error_size integer, values_start integer, values_size integer, interrupts_start integer,
            interrupts_size integer),
          finish_run(_claim.run_id, _claim.claim_id, e.status,
            convert_from(substring(_bytes from e.error_start for e.error_size), 'UTF8')::json,
            convert_from(substring(_bytes from e.values_start for e.values_size), 'UTF8')::json,
            convert_from(substring(_bytes from e.interrupts_start for e.interrupts_size), 'UTF8')::json,
            e.thread_status) f;
      if _end.outcome = 'finished' and json_array_length(_rows -> 'events') > 0 then
        insert into run_events (run_id, seq, event, data)
          select _claim.run_id, seq, event, convert_from(substring(_bytes from start for size), 'UTF8')
          from json_to_recordset(_rows -> 'events') as new (claim integer, seq bigint, event text, start integer, size integer)
          where claim = _claim.n
          on conflict do nothing;
        if found then
          perform pg_notify('run_events', _claim.run_id::text);
        end if;
      end if;
      return query select _claim.n, _end.outcome, _end.watched_by;
    end if;
  end loop;
end
$$;

-- For the end of a stateless run and of a rolled back one; part of the queue's own functions, so no round trip of theirs.
create or replace function delete_checkpoints(_thread_id uuid) returns void language sql as $$
  delete from checkpoint_writes where thread_id = _thread_id::text;
  delete from checkpoint_blobs where thread_id = _thread_id::text;
  delete from checkpoints where thread_id = _thread_id::text;
$$;

-- For a run that is rolled back or deleted. Blobs stay: those of older checkpoints share the table, and versions of this run
-- are never asked for again. A run that answered an interrupt also wrote to the checkpoint before it; what it replaced there is
-- not brought back.
create or replace function delete_checkpoints_of_run(_thread_id uuid, _run_id uuid) returns void language plpgsql as $$
begin
  update checkpoints set is_replay_only = true
    where thread_id = _thread_id::text and metadata ->> 'run_id' = _run_id::text and not is_replay_only;
  -- A run that executes may have begun at these checkpoints and not have saved one of its own yet: then all that its state may
  -- be rebuilt from stays, until the next removal.
  if exists (select from runs where thread_id = _thread_id and run_id <> _run_id and status = 'running')
      and exists (select from delta_channels(_thread_id::text)) then
    return;
  end if;
  perform drop_unneeded_checkpoints(_thread_id::text, _run_id);
end
$$;
