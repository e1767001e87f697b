-- The queue (server/src/runs/README.md, R1–R11). These steps must see what happened while they waited for a lock: a function in
-- plpgsql takes a new snapshot for each statement, a common table expression does not, and two runs could both find the thread
-- idle. Each step locks the thread first and its runs second, in the order of their ids, so no two of them wait for each other.
-- A claimer locks only runs, and skips those that are locked.

-- A unit claims only while `serving` names its revision; a server without a revision always may.
create or replace function may_claim(_revision_id text) returns boolean language sql stable as $$
  select _revision_id is null or exists (select from serving where revision_id = _revision_id)
$$;

-- Whether a thread has a run that waits or executes. The order makes Postgres use the index `runs_in_flight`: it drops the order of
-- a mere `exists`, and then scans the table when its statistics promise an early match (queue-cost.test.ts).
create or replace function is_in_flight(_thread_id uuid) returns boolean language sql stable as $$
  select (
    select r.seq from runs r where r.thread_id = _thread_id and r.status in ('pending', 'running') order by r.seq limit 1
  ) is not null
$$;

-- Whether a run of a thread waits, also one that waits for its time.
create or replace function has_waiting_run(_thread_id uuid) returns boolean language sql stable as $$
  select (
    select r.seq from runs r where r.thread_id = _thread_id and r.status = 'pending' order by r.seq limit 1
  ) is not null
$$;

-- Sets the status of a thread when no run of it executes: `busy` while another one waits, else `_at_rest`.
create or replace function settle_thread(_thread_id uuid, _at_rest text) returns void language sql as $$
  update threads t set updated_at = now(), status = case
    when _at_rest <> 'error' and is_in_flight(_thread_id) then 'busy' else _at_rest end
  where t.thread_id = _thread_id
$$;

-- As `settle_thread`, after a run that executed nothing: a thread that was interrupted stays interrupted.
create or replace function settle_thread_as_before(_thread_id uuid) returns void language sql as $$
  select settle_thread(_thread_id, case when t.interrupts::text = '{}' then 'idle' else 'interrupted' end)
  from threads t where t.thread_id = _thread_id
$$;

-- Stops runs of a thread that the caller has locked: a running one is asked to stop, a waiting one ends at once.
-- Returns the runs that ended, whose streams must be ended.
create or replace function stop_runs(_thread_id uuid, _run_ids uuid[], _action text, _reason text) returns uuid[] language plpgsql as $$
declare
  _running uuid;
  _over uuid[];
begin
  -- A claim that is being made right now must be seen as one.
  perform from runs where thread_id = _thread_id and run_id = any (_run_ids) order by run_id for update;
  for _running in
    -- A rollback that was asked for stays one, whoever asks for less afterwards, such as a client that leaves.
    update runs set cancel_action = case cancel_action when 'rollback' then 'rollback' else _action end,
      cancel_reason = _reason
    where thread_id = _thread_id and run_id = any (_run_ids) and status = 'running' returning run_id
  loop
    perform pg_notify('run_cancel', _running::text);
  end loop;
  _over := array(select run_id from runs where thread_id = _thread_id and run_id = any (_run_ids) and status = 'pending');
  if _action = 'rollback' then
    -- One that was attempted before has written already.
    perform delete_checkpoints_of_run(_thread_id, run_id) from unnest(_over) as stopped (run_id);
    delete from runs where run_id = any (_over);
  else
    update runs set status = 'interrupted', cancel_reason = _reason, updated_at = now() where run_id = any (_over);
  end if;
  return _over;
end
$$;

-- Creates a run. The server that asks claims it at once when it has a free slot and nothing of the thread is in flight;
-- otherwise the run waits in the queue.
-- A stateless run's thread that is kept is a thread like any other.
-- outcome: created | no_thread | thread_busy
create or replace function create_run(
  _run_id uuid, _thread_id uuid, _thread_rule text, _thread_metadata json, _assistant_id uuid, _graph_id text,
  _metadata json, _kwargs json, _multitask_strategy text, _is_resumable boolean, _delete_thread boolean,
  _after_seconds double precision, _server_id uuid, _can_execute boolean, _is_streamed boolean, _lease_ms integer,
  _revision_id text, _caller json, _webhook text
) returns table (outcome text, claim_id uuid, has_checkpoint boolean, stopped uuid[], created_at timestamptz)
language plpgsql as $$
#variable_conflict use_column
declare
  _in_flight uuid[] := '{}';
  _stopped uuid[] := '{}';
  _claim_id uuid;
  _has_checkpoint boolean := false;
begin
  if _thread_rule <> 'ephemeral' then
    perform from threads t where t.thread_id = _thread_id for update;
    if not found and _thread_rule = 'must_exist' then
      return query select 'no_thread', null::uuid, false, '{}'::uuid[], null::timestamptz;
      return;
    end if;
    _in_flight := array(select r.run_id from runs r where r.thread_id = _thread_id and r.status in ('pending', 'running'));
    if _multitask_strategy = 'reject' and cardinality(_in_flight) > 0 then
      return query select 'thread_busy', null::uuid, false, '{}'::uuid[], null::timestamptz;
      return;
    end if;
    _has_checkpoint := exists (select from checkpoints c where c.thread_id = _thread_id::text);
  end if;
  insert into threads (thread_id, status, graph_id, assistant_id, metadata, is_ephemeral)
    values (_thread_id, 'busy', _graph_id, _assistant_id, _thread_metadata, _thread_rule = 'ephemeral' and _delete_thread)
    on conflict (thread_id) do update
      set status = 'busy', graph_id = excluded.graph_id, assistant_id = excluded.assistant_id, updated_at = now();
  if _multitask_strategy in ('interrupt', 'rollback') then
    _stopped := stop_runs(_thread_id, _in_flight, _multitask_strategy, 'run ' || _run_id || ' took its place');
  end if;

  if _can_execute and cardinality(_in_flight) = 0 and _after_seconds <= 0 and may_claim(_revision_id) then
    _claim_id := gen_random_uuid();
  end if;
  insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy, is_resumable,
      delete_thread_on_completion, not_before, attempt, claim_id, claimed_by, lease_until, watched_by, caller,
      webhook)
    values (_run_id, _thread_id, _assistant_id, _graph_id, case when _claim_id is null then 'pending' else 'running' end,
      _metadata, _kwargs, _multitask_strategy, _is_resumable, _delete_thread, now() + make_interval(secs => _after_seconds),
      case when _claim_id is null then 0 else 1 end, _claim_id,
      case when _claim_id is not null then _server_id end,
      case when _claim_id is not null then now() + make_interval(secs => _lease_ms / 1000.0) end,
      case when _claim_id is null and _is_streamed then array[_server_id] else '{}' end, _caller,
      _webhook);
  if _claim_id is null then
    perform pg_notify('runs_pending', '');
  end if;
  return query select 'created', _claim_id, _has_checkpoint, _stopped, now();
end
$$;

-- outcome: none (no such run) | over (it had ended before) | stopped (it was waiting) | stopping (its worker was asked)
create or replace function cancel_run(_thread_id uuid, _run_id uuid, _action text, _reason text) returns text language plpgsql as $$
declare
  _run runs;
begin
  perform from threads t where t.thread_id = _thread_id for update;
  select * into _run from runs r where r.thread_id = _thread_id and r.run_id = _run_id for update;
  if not found then
    return 'none';
  end if;
  if _run.status not in ('pending', 'running') then
    return 'over';
  end if;
  perform stop_runs(_thread_id, array[_run_id], _action, _reason);
  if _run.status = 'running' then
    return 'stopping';
  end if;
  if _run.delete_thread_on_completion then
    delete from threads t where t.thread_id = _thread_id;
  else
    perform settle_thread_as_before(_thread_id);
  end if;
  return 'stopped';
end
$$;

-- The last write of an attempt, fenced by its claim. A rollback that was asked for wins over however the run ended. The thread's
-- state is written before the run's status, so that the trigger that queues a webhook reads the final state.
-- outcome: finished | rolled_back | claim_lost
create or replace function finish_run(
  _run_id uuid, _claim_id uuid, _status text, _error json, _values json, _interrupts json, _thread_status text
) returns table (outcome text, watched_by uuid[]) language plpgsql as $$
#variable_conflict use_column
declare
  _run runs;
begin
  perform from threads t where t.thread_id = (select r.thread_id from runs r where r.run_id = _run_id) for update;
  select * into _run from runs r where r.run_id = _run_id and r.claim_id = _claim_id for update;
  if not found then
    return query select 'claim_lost', '{}'::uuid[];
    return;
  end if;
  if _run.cancel_action = 'rollback' then
    delete from runs r where r.run_id = _run_id;
    perform delete_checkpoints_of_run(_run.thread_id, _run_id);
    perform settle_thread_as_before(_run.thread_id);
  else
    -- One update of the thread, whose row is wide and has many indexes. The run itself is still in flight here.
    update threads t set values = coalesce(_values, t.values), interrupts = coalesce(_interrupts, t.interrupts),
      error = _error, state_updated_at = now(), updated_at = now(),
      status = case when _thread_status <> 'error' and has_waiting_run(_run.thread_id) then 'busy' else _thread_status end
      where t.thread_id = _run.thread_id;
    update runs r set status = _status, error = _error, claim_id = null, claimed_by = null, lease_until = null, updated_at = now()
      where r.run_id = _run_id;
  end if;
  if _run.delete_thread_on_completion then
    perform delete_checkpoints(_run.thread_id);
    delete from threads t where t.thread_id = _run.thread_id;
  end if;
  if has_waiting_run(_run.thread_id) then
    perform pg_notify('runs_pending', '');
  end if;
  return query select case when _run.cancel_action = 'rollback' then 'rolled_back' else 'finished' end, _run.watched_by;
end
$$;

-- Ends an attempt whose run goes on: the run waits again. One that was asked to stop is over instead, and so is one that
-- has been lost too often. `_watcher`: a server with clients of the run.
-- ending: handed_back         nothing happened to it (a shutdown, no worker)
--         worker_died         its worker died with this run alone in it: a loss
--         shared_worker_died  its worker died with others in it, so nobody can tell which one it was: no loss
--         lease_ended         its server is gone, if the lease is over at this moment (its holder may have renewed it)
--         server_restarted    its server is gone, as its next life says
-- A server that is gone is a loss of a run that executed alone, since a graph that ends its server each time must end
-- some day. Of any other run it is none until it has happened too often; from then on the run executes alone.
-- outcome: waiting | finished | rolled_back | claim_lost; status is that of a run which is over
create or replace function release_run(
  _run_id uuid, _claim_id uuid, _ending text, _watcher uuid, _most_losses integer, _error json
) returns table (outcome text, status text) language plpgsql as $$
#variable_conflict use_column
declare
  _run runs;
  _runs_alone boolean;
  _is_server_gone boolean := _ending in ('lease_ended', 'server_restarted');
  _losses integer;
  _servers_lost integer;
begin
  perform from threads t where t.thread_id = (select r.thread_id from runs r where r.run_id = _run_id) for update;
  select * into _run from runs r where r.run_id = _run_id and r.claim_id = _claim_id for update;
  if not found or (_ending = 'lease_ended' and _run.lease_until >= now()) then
    return query select 'claim_lost', null::text;
    return;
  end if;
  _losses := _run.losses + case when _ending = 'worker_died' or (_is_server_gone and _run.runs_alone) then 1 else 0 end;
  _servers_lost := _run.servers_lost + case when _is_server_gone then 1 else 0 end;
  if _run.cancel_action is not null then
    return query select f.outcome, 'interrupted' from
      finish_run(_run_id, _claim_id, 'interrupted', null, null, null, 'idle') f;
    return;
  end if;
  if _losses >= _most_losses then
    return query select f.outcome, 'error' from finish_run(_run_id, _claim_id, 'error', _error, null, null, 'error') f;
    return;
  end if;
  _runs_alone := _run.runs_alone or _ending in ('worker_died', 'shared_worker_died') or _servers_lost >= _most_losses;
  update runs r set status = 'pending', losses = _losses, servers_lost = _servers_lost, runs_alone = _runs_alone,
    claim_id = null, claimed_by = null, lease_until = null, updated_at = now(),
    watched_by = case when _watcher is null or _watcher = any (r.watched_by) then r.watched_by else r.watched_by || _watcher end
    where r.run_id = _run_id;
  perform pg_notify('runs_pending', case when _runs_alone then 'alone' else '' end);
  return query select 'waiting', null::text;
end
$$;

-- Notes that a server has clients of a run that executes elsewhere, and tells the one that executes it; then says what
-- the run's status is: in a second statement, since a run that ended while the first one waited must be seen as ended.
create or replace function watch_run(_run_id uuid, _server_id uuid) returns text language plpgsql as $$
declare
  _status text;
begin
  update runs set watched_by = watched_by || _server_id
    where run_id = _run_id and status in ('pending', 'running') and not _server_id = any (watched_by);
  if found then
    perform pg_notify('run_watched', _run_id || ' ' || _server_id);
  end if;
  select r.status into _status from runs r where r.run_id = _run_id;
  -- A claimer that came by in this moment skipped the row.
  if _status = 'pending' then
    perform pg_notify('runs_pending', '');
  end if;
  return _status;
end
$$;

-- Removes a run that is over, with the checkpoints that it wrote.
-- outcome: none (no such run) | in_flight | deleted
create or replace function delete_run(_thread_id uuid, _run_id uuid) returns text language plpgsql as $$
declare
  _run runs;
begin
  perform from threads t where t.thread_id = _thread_id for update;
  select * into _run from runs r where r.thread_id = _thread_id and r.run_id = _run_id for update;
  if not found then
    return 'none';
  end if;
  if _run.status in ('pending', 'running') then
    return 'in_flight';
  end if;
  -- A new version of the thread: an update of its state that began from these checkpoints begins again (threads/README, T1).
  update threads t set updated_at = t.updated_at where t.thread_id = _thread_id;
  perform delete_checkpoints_of_run(_thread_id, _run_id);
  delete from runs where run_id = _run_id;
  return 'deleted';
end
$$;
