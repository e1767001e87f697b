-- Who asked for a run, what for, and what was answered.
--
-- What was answered to which request stays for a day: a client that did not hear the reply sends its request again under
-- the same key, and it has its effect once. The row commits with the effect, so no kill comes between the two.

create table idempotency_keys (
  -- Of who calls and of the key: either may be any text, of any length.
  key_sha256 bytea primary key,
  request_sha256 bytea not null,
  -- Null only inside the transaction that took the key.
  status integer,
  headers jsonb,
  body text,
  created_at timestamptz not null default now()
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

alter table runs
  -- What the graph is told of who asked; kept apart from `kwargs`, which clients read.
  add column caller json,
  -- Where to tell of the run's end; null for nearly all.
  add column webhook text,
  -- Why it was asked to stop.
  add column cancel_reason text;

-- The functions of 000003 with these columns; those of before stay for servers of the release before.

-- Stops runs of a thread that the caller has locked: a running one is asked to, a waiting one is over at once.
-- Returns those that are over, whose streams must be told.
create function stop_runs(_thread_id uuid, _run_ids uuid[], _action text, _reason text) returns uuid[] language plpgsql as $$
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

-- Puts a run into the queue, or straight into the hands of the server that asks when nothing stands in its way.
-- A stateless run's thread that is kept is a thread like any other.
-- outcome: created | no_thread | thread_busy
create function create_run(
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
create function cancel_run(_thread_id uuid, _run_id uuid, _action text, _reason text) returns text language plpgsql as $$
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

-- Removes a run that is over, with the checkpoints that it wrote.
-- outcome: none (no such run) | in_flight | deleted
create function delete_run(_thread_id uuid, _run_id uuid) returns text language plpgsql as $$
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
