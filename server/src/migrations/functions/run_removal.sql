-- Removing a run, and what starts from its checkpoints (server/src/runs/README.md).

-- The checkpoint that a run starts from, as its request names it; null: the thread's newest one. A text is searched first, since
-- `part_of_json` reads all of the request, and few requests name a checkpoint.
create or replace function named_checkpoint(_kwargs json) returns text language plpgsql immutable as $$
begin
  if strpos(_kwargs::text, '"checkpoint_id"') = 0 then
    return null;
  end if;
  return part_of_json(_kwargs, '{config,configurable,checkpoint_id}') #>> '{}';
end
$$;

-- Whether the checkpoint that a run starts from was removed, as by a rollback of its run. The run would start anew. Not for a later
-- attempt that goes on from a checkpoint of its own.
create or replace function has_lost_checkpoint(_run runs) returns boolean language plpgsql stable as $$
declare
  _id text := named_checkpoint(_run.kwargs);
begin
  return _id is not null
    and not exists (
      select from checkpoints c where c.thread_id = _run.thread_id::text and c.checkpoint_id = _id and not c.is_replay_only)
    and not exists (
      select from checkpoints c where c.metadata ->> 'run_id' = _run.run_id::text and c.thread_id = _run.thread_id::text);
end
$$;

-- A waiting or running run that starts from a checkpoint of another run of its thread, or null. A running one may be attempted again.
-- Volatile, so that it sees what `delete_run` saw.
create or replace function run_starting_from(_thread_id uuid, _run_id uuid) returns uuid language plpgsql as $$
begin
  return (
    select r.run_id from runs r
    where r.thread_id = _thread_id and r.status in ('pending', 'running') and r.run_id <> _run_id
      and exists (
        select from checkpoints c
        where c.thread_id = _thread_id::text and c.checkpoint_id = named_checkpoint(r.kwargs)
          and c.metadata ->> 'run_id' = _run_id::text)
    order by r.seq limit 1);
end
$$;

-- Removes an ended run with the checkpoints that it wrote.
-- outcome: none (no such run) | in_use (another run starts from its checkpoint: `run_starting_from`) | in_flight | deleted
create or replace function delete_run(_thread_id uuid, _run_id uuid) returns text language plpgsql as $$
declare
  _run runs;
begin
  perform from threads t where t.thread_id = _thread_id for update;
  select * into _run from runs r where r.thread_id = _thread_id and r.run_id = _run_id for update;
  if not found then
    return 'none';
  end if;
  if run_starting_from(_thread_id, _run_id) is not null then
    return 'in_use';
  end if;
  if _run.status in ('pending', 'running') then
    return 'in_flight';
  end if;
  -- A new version of the thread: an update of its state that started from these checkpoints is computed again (threads/README, T1).
  update threads t set updated_at = t.updated_at where t.thread_id = _thread_id;
  perform delete_checkpoints_of_run(_thread_id, _run_id);
  delete from thread_answers a where a.thread_id = _thread_id and a.run_id = _run_id;
  delete from runs where run_id = _run_id;
  return 'deleted';
end
$$;
