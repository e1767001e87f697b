-- The queue (server/src/runs/README.md, R1–R11). These steps must see changes that were made while they waited for a lock. A
-- function in plpgsql takes a new snapshot for each statement; a common table expression does not, so two runs could both find the
-- thread idle. Each step locks the thread first and its runs second, in the order of their ids, so no two steps deadlock.
-- A claiming server locks only runs, and skips locked ones.

-- Whether a thread has a pending or running run. The order makes Postgres use the index `runs_in_flight`: it ignores an order inside
-- `exists`, and then scans the table when its statistics suggest an early match (queue-cost.test.ts).
create or replace function is_in_flight(_thread_id uuid) returns boolean language sql stable as $$
  select (
    select r.seq from runs r where r.thread_id = _thread_id and r.status in ('pending', 'running') order by r.seq limit 1
  ) is not null
$$;

-- Whether a thread has a pending run, including a delayed one.
create or replace function has_waiting_run(_thread_id uuid) returns boolean language sql stable as $$
  select (
    select r.seq from runs r where r.thread_id = _thread_id and r.status = 'pending' order by r.seq limit 1
  ) is not null
$$;

-- Whether a run of a thread executes, or could: a delayed one does not count before its time.
create or replace function has_due_run(_thread_id uuid) returns boolean language sql volatile as $$
  select (
    select r.seq from runs r
    where r.thread_id = _thread_id and r.status in ('pending', 'running') and (r.status = 'running' or r.not_before <= superstep_clock())
    order by r.seq limit 1
  ) is not null
$$;

-- The status of a thread for its readers. One that asks something, and has only runs that are not due yet, still asks.
create or replace function status_of(_thread threads) returns text language sql volatile as $$
  select case
    when _thread.status = 'busy' and _thread.interrupts::text <> '{}' and not has_due_run(_thread.thread_id) then 'interrupted'
    else _thread.status
  end
$$;

-- The order in which the pending runs of a thread start (R3). A delayed run takes its place when it is due: what was requested before that
-- comes first, such as the answer to a question that its input would replace.
create or replace function is_due_before(_run runs, _other runs) returns boolean language sql immutable as $$
  select (_run.not_before, _run.seq) < (_other.not_before, _other.seq)
$$;

-- The pending run of a thread that could start now: `{revisionId, runsAlone}`, where `revisionId` may execute it. Null: no run is
-- pending, or a run of the thread is running, whose end starts the next one. By the clock: a run that was created while the caller waited
-- for the thread's lock can start now, and nobody else wakes a server for it.
create or replace function startable_run(_thread_id uuid) returns jsonb language sql volatile as $$
  -- Materialized: for the order alone Postgres would look through the waiting runs of all threads.
  with in_flight as materialized (
    select r.status, r.not_before, r.seq, r.revision_id, r.runs_alone from runs r
    where r.thread_id = _thread_id and r.status in ('pending', 'running'))
  select jsonb_build_object('revisionId', coalesce(r.revision_id, revision_of_thread(_thread_id)), 'runsAlone', r.runs_alone)
  from in_flight r
  where r.status = 'pending' and r.not_before <= superstep_clock() and not exists (select from in_flight where status = 'running')
  order by r.not_before, r.seq limit 1
$$;

-- Sets the status of a thread without a running run: `busy` if another one is pending, else `_at_rest`.
create or replace function settle_thread(_thread_id uuid, _at_rest text) returns void language sql as $$
  update threads t set updated_at = superstep_now(),
    status = case when _at_rest <> 'error' and now_.is_busy then 'busy' else _at_rest end,
    revision_id = case when t.is_pinned_until_rest and now_.is_at_rest then null else t.revision_id end,
    is_pinned_until_rest = t.is_pinned_until_rest and not now_.is_at_rest
  from (
    select is_busy, not is_busy and _at_rest <> 'interrupted' as is_at_rest
    from (select is_in_flight(_thread_id) as is_busy) in_flight) now_
  where t.thread_id = _thread_id
$$;

-- Like `settle_thread`, after a run that executed nothing: an interrupted thread stays interrupted.
create or replace function settle_thread_as_before(_thread_id uuid) returns void language sql as $$
  select settle_thread(_thread_id, case when t.interrupts::text = '{}' then 'idle' else 'interrupted' end)
  from threads t where t.thread_id = _thread_id
$$;

-- The running run of a thread, and the server that must be asked to stop it: `{runId, serverId}`, or null.
create or replace function running_run(_thread_id uuid) returns jsonb language sql stable as $$
  select jsonb_build_object('runId', r.run_id, 'serverId', r.claimed_by)
  from runs r where r.thread_id = _thread_id and r.status = 'running' order by r.seq limit 1
$$;

-- Whether nobody holds a run's claim: its server's lease has ended, and so has the time for which the claim itself is held. A server of
-- the release before renews its claims one by one, and has no lease.
create or replace function is_claim_lost(_run runs) returns boolean language sql stable as $$
  select _run.lease_until < superstep_now() and not exists (
    select from servers s where s.server_id = _run.claimed_by and s.lease_until >= superstep_now())
$$;

-- Whether anything of a run was saved in its thread: a checkpoint, or a result of its nodes. An answer that the node has not received
-- yet (`__resume__`) is dropped with its run, and the question stays open.
create or replace function has_saved_input(_thread_id uuid, _run_id uuid) returns boolean language sql stable as $$
  select exists (
      select from checkpoints c
      where c.thread_id = _thread_id::text and c.checkpoint_ns = '' and c.metadata ->> 'run_id' = _run_id::text)
    or exists (
      select from checkpoint_writes w
      where w.thread_id = _thread_id::text and w.run_id = _run_id and w.channel <> '__resume__')
$$;

-- What earlier attempts of a claimed run have saved of its command. `answer`: that a task got an answer, by a write of a task that has an answer.
-- It may be an earlier answer, if several tasks of a step ask: then the task that this run answers may ask again, and nobody's answer is used twice.
-- `writes`: only the command's own writes (`update`, `goto`), which come before those of any task. Else null. The root may have no checkpoint of
-- the run yet, since the task may be one of a subgraph, or have asked again.
create or replace function saved_of_command(_run runs) returns text language plpgsql stable as $$
begin
  -- A text is searched first, since few requests have a command.
  if _run.attempt < 2 or strpos(_run.kwargs::text, '"command"') = 0 then
    return null;
  end if;
  return (
    select case when bool_or(saved.is_answered) then 'answer' when bool_or(saved.is_written) then 'writes' end
    from checkpoint_writes w, lateral (
      select
        w.task_id = '00000000-0000-0000-0000-000000000000' and w.channel <> '__resume__' as is_written,
        -- LangGraph.js saves an answer by id under that id, which is no task and has no dash.
        w.task_id <> '00000000-0000-0000-0000-000000000000' and strpos(w.task_id, '-') > 0 and exists (
          select from checkpoint_writes a
          where a.thread_id = w.thread_id and a.checkpoint_ns = w.checkpoint_ns and a.checkpoint_id = w.checkpoint_id
            and a.task_id = w.task_id and a.channel = '__resume__') as is_answered) saved
    where w.thread_id = _run.thread_id::text and w.run_id = _run.run_id);
end
$$;

-- Whether what a run saved is still there after the next input: that replaces what is only in the checkpoint of the run's input, with its
-- writes. An attempt that stops by itself moves its input into the state first (W11), unless that takes too long; one that died may not have.
create or replace function has_applied_input(_thread_id uuid, _run_id uuid) returns boolean language sql stable as $$
  select has_saved_input(_thread_id, _run_id) and coalesce((
    select bool_or(c.metadata ->> 'source' is distinct from 'input') from checkpoints c
    where c.thread_id = _thread_id::text and c.checkpoint_ns = '' and c.metadata ->> 'run_id' = _run_id::text), true)
$$;

-- Stops runs of a thread that the caller has locked: a running run is marked to be stopped, a pending one ends at once.
-- Returns the runs that ended, whose streams must be ended.
create or replace function stop_runs(_thread_id uuid, _run_ids uuid[], _action text, _reason text) returns uuid[] language plpgsql as $$
declare
  _over uuid[];
begin
  -- A claim that is made at this moment must be seen. The statuses let Postgres use the index `runs_in_flight`: otherwise it would
  -- read all runs of a thread with many ended runs.
  perform from runs where thread_id = _thread_id and run_id = any (_run_ids) and status in ('pending', 'running')
    order by run_id for update;
  -- A requested rollback is not replaced by a later, weaker request, such as that of a disconnecting client.
  update runs set cancel_action = case cancel_action when 'rollback' then 'rollback' else _action end, cancel_reason = _reason
    where thread_id = _thread_id and run_id = any (_run_ids) and status = 'running';
  _over := array(select run_id from runs where thread_id = _thread_id and run_id = any (_run_ids) and status = 'pending');
  if _action = 'rollback' then
    -- A run that was attempted before has already written data.
    perform delete_checkpoints_of_run(_thread_id, run_id) from unnest(_over) as stopped (run_id);
    delete from runs where run_id = any (_over);
  else
    update runs set status = 'interrupted', cancel_reason = _reason, updated_at = superstep_now(),
      -- Only an earlier attempt can have saved it.
      input_saved = attempt > 0 and has_applied_input(_thread_id, run_id)
      where run_id = any (_over);
  end if;
  return _over;
end
$$;

-- Stops a run. stopping: its server, which must be notified (`running_run`); waiting: like `create_run`.
-- outcome: none (no such run) | over (it had ended before) | stopped (it was waiting) | stopping (it executes)
create or replace function stop_run(_thread_id uuid, _run_id uuid, _action text, _reason text)
returns table (outcome text, stopping jsonb, waiting jsonb) language plpgsql as $$
declare
  _run runs;
begin
  perform from threads t where t.thread_id = _thread_id for update;
  select * into _run from runs r where r.thread_id = _thread_id and r.run_id = _run_id for update;
  if not found then
    return query select 'none', null::jsonb, null::jsonb;
    return;
  end if;
  if _run.status not in ('pending', 'running') then
    return query select 'over', null::jsonb, null::jsonb;
    return;
  end if;
  perform stop_runs(_thread_id, array[_run_id], _action, _reason);
  if _run.status = 'running' then
    return query select 'stopping', running_run(_thread_id), null::jsonb;
    return;
  end if;
  if _run.delete_thread_on_completion then
    -- A run that was attempted before has already written data.
    perform delete_checkpoints(_thread_id);
    delete from threads t where t.thread_id = _thread_id;
  else
    perform settle_thread_as_before(_thread_id);
  end if;
  return query select 'stopped', null::jsonb, startable_run(_thread_id);
end
$$;

-- The questions that an ending run has answered, by the ids of their tasks: those of the checkpoint that it started from. Of an older
-- checkpoint only those are known that were answered before; null if none is. The ids of tasks belong to one checkpoint.
create or replace function questions_before(_run runs) returns json language plpgsql stable as $$
declare
  _checkpoint_id text := named_checkpoint(_run.kwargs);
  _open json := (select t.interrupts from threads t where t.thread_id = _run.thread_id and t.interrupts::text <> '{}');
begin
  -- Clients also name the newest checkpoint, as the SDK's hook does.
  if _checkpoint_id is null or has_task_of(_run.thread_id, _checkpoint_id, _open) then
    return _open;
  end if;
  return (
    select a.interrupts from thread_answers a
    where a.thread_id = _run.thread_id and has_task_of(a.thread_id, _checkpoint_id, a.interrupts)
    order by a.run_id desc limit 1);
end
$$;

-- Whether questions, by the ids of their tasks, are those of a checkpoint: a task that asks writes it there. A question may contain what
-- Postgres rejects when it reads JSON (`part_of_json`).
create or replace function has_task_of(_thread_id uuid, _checkpoint_id text, _interrupts json) returns boolean language sql stable as $$
  select exists (
    select from json_object_keys(part_of_json(_interrupts, '{}')) as task (id)
    join checkpoint_writes w on w.thread_id = _thread_id::text and w.checkpoint_ns = ''
      and w.checkpoint_id = _checkpoint_id and w.task_id = task.id)
$$;

-- Whether an answer names questions by id, as LangGraph reads an object whose keys all are ids, and none of these questions.
create or replace function names_other_questions(_resume json, _interrupts json) returns boolean language sql immutable as $$
  select json_typeof(_resume) = 'object'
    and coalesce((select bool_and(id ~ '^[0-9a-f]{32}$') from json_object_keys(case when json_typeof(_resume) = 'object' then _resume end) id), false)
    and not exists (
      select from json_each(part_of_json(_interrupts, '{}')) task, json_array_elements(task.value) question, json_object_keys(_resume) id
      where question ->> 'id' = id)
$$;

-- Keeps what a run that ends has answered, with the questions.
create or replace function keep_answer(_run runs, _status text) returns void language plpgsql as $$
declare
  _resume json;
  _interrupts json;
begin
  -- A text is searched first, since `part_of_json` reads all of the request, and few requests resume a thread.
  if strpos(_run.kwargs::text, '"resume"') = 0 then
    return;
  end if;
  _resume := part_of_json(_run.kwargs, '{command,resume}');
  _interrupts := questions_before(_run);
  insert into thread_answers (thread_id, run_id, interrupts, resume, answered_at, user_id, status)
    select _run.thread_id, _run.run_id, _interrupts, _resume, _run.created_at,
      part_of_json(_run.caller, '{langgraph_auth_user_id}') #>> '{}', _status
    where _resume is not null and _interrupts is not null and not names_other_questions(_resume, _interrupts);
end
$$;

-- The last write of an attempt, fenced by its claim, on a thread that the caller has locked. A requested rollback wins over any
-- status of the run. The thread's state is written before the run's status, so that the trigger that queues a webhook reads the
-- final state.
-- outcome: finished | rolled_back | claim_lost; waiting: the next run of the thread (`startable_run`)
create or replace function end_run(
  _run_id uuid, _claim_id uuid, _status text, _error json, _values json, _interrupts json, _thread_status text
) returns table (outcome text, watched_by uuid[], waiting jsonb) language plpgsql as $$
#variable_conflict use_column
declare
  _run runs;
  _has_more boolean;
  _is_at_rest boolean;
begin
  select * into _run from runs r where r.run_id = _run_id and r.claim_id = _claim_id for update;
  if not found then
    return query select 'claim_lost', '{}'::uuid[], null::jsonb;
    return;
  end if;
  -- A thread that is deleted with its run needs no final state, unless a webhook sends it: the two updates cost more than the removal.
  if _run.delete_thread_on_completion and (_run.webhook is null or _run.cancel_action = 'rollback') then
    perform delete_checkpoints(_run.thread_id);
    delete from threads t where t.thread_id = _run.thread_id;
    return query select case when _run.cancel_action = 'rollback' then 'rolled_back' else 'finished' end, _run.watched_by, null::jsonb;
    return;
  end if;
  if _run.cancel_action = 'rollback' then
    delete from runs r where r.run_id = _run_id;
    perform delete_checkpoints_of_run(_run.thread_id, _run_id);
    perform settle_thread_as_before(_run.thread_id);
  else
    -- Before the thread gets the questions that are open from now on.
    perform keep_answer(_run, _status);
    -- One update of the thread, whose row is wide and has many indexes. The run itself is still in flight here.
    _has_more := has_waiting_run(_run.thread_id);
    _is_at_rest := not _has_more and _thread_status <> 'interrupted';
    update threads t set values = coalesce(_values, t.values), interrupts = coalesce(_interrupts, t.interrupts),
      error = _error, state_updated_at = superstep_now(), updated_at = superstep_now(),
      status = case when _thread_status <> 'error' and _has_more then 'busy' else _thread_status end,
      revision_id = case when t.is_pinned_until_rest and _is_at_rest then null else t.revision_id end,
      is_pinned_until_rest = t.is_pinned_until_rest and not _is_at_rest
      where t.thread_id = _run.thread_id;
    update runs r set status = _status, error = _error, claim_id = null, claimed_by = null, lease_until = null, updated_at = superstep_now(),
      input_saved = case when _status = 'success' then null else has_applied_input(_run.thread_id, _run_id) end
      where r.run_id = _run_id;
  end if;
  if _run.delete_thread_on_completion then
    perform delete_checkpoints(_run.thread_id);
    delete from threads t where t.thread_id = _run.thread_id;
  end if;
  return query select case when _run.cancel_action = 'rollback' then 'rolled_back' else 'finished' end, _run.watched_by,
    startable_run(_run.thread_id);
end
$$;

-- Ends an attempt of a run that is not done: the run waits again. A run with a requested stop ends instead, and so does a run that
-- was lost too often. `_watcher`: a server with clients of the run.
-- ending: handed_back         the run was not harmed (a shutdown, no worker)
--         worker_died         its worker died while executing only this run: a loss
--         worker_blocked      its worker was killed because its event loop was blocked while executing only this run: counts twice, so that
--                             the second one ends the run; each costs somebody the whole time limit of a blocked event loop
--         shared_worker_died  its worker died while executing other runs, too, so the cause is unknown: no loss
--         lease_ended         its server is gone, if the claim is lost at this moment (its holder may have renewed its lease)
--         server_restarted    its server is gone, reported by the restarted server
--         abandoned           its server does not execute it, reported by that server: the reply to the claim did not arrive, or the end of
--                             the attempt could not be written
-- If a server is gone or does not execute it, this is a loss of a run that executed alone, since a graph that always ends its server must fail
-- eventually. For any other run it is no loss until it has happened too often; from then on the run executes alone.
-- outcome: waiting | finished | rolled_back | claim_lost; status: of a run that has ended; waiting: like `end_run`
create or replace function requeue_run(
  _run_id uuid, _claim_id uuid, _ending text, _watcher uuid, _most_losses integer, _error json
) returns table (outcome text, status text, waiting jsonb) language plpgsql as $$
#variable_conflict use_column
declare
  _run runs;
  _runs_alone boolean;
  _is_server_gone boolean := _ending in ('lease_ended', 'server_restarted', 'abandoned');
  _losses integer;
  _servers_lost integer;
begin
  perform from threads t where t.thread_id = (select r.thread_id from runs r where r.run_id = _run_id) for update;
  select * into _run from runs r where r.run_id = _run_id and r.claim_id = _claim_id for update;
  if not found or (_ending = 'lease_ended' and not is_claim_lost(_run)) then
    return query select 'claim_lost', null::text, null::jsonb;
    return;
  end if;
  _losses := _run.losses + case when _ending = 'worker_blocked' then 2
    when _ending = 'worker_died' or (_is_server_gone and _run.runs_alone) then 1 else 0 end;
  _servers_lost := _run.servers_lost + case when _is_server_gone then 1 else 0 end;
  if _run.cancel_action is not null then
    return query select e.outcome, 'interrupted', e.waiting from
      end_run(_run_id, _claim_id, 'interrupted', null, null, null, 'idle') e;
    return;
  end if;
  if _losses >= _most_losses then
    return query select e.outcome, 'error', e.waiting from end_run(_run_id, _claim_id, 'error', _error, null, null, 'error') e;
    return;
  end if;
  _runs_alone := _run.runs_alone or _ending in ('worker_died', 'worker_blocked', 'shared_worker_died') or _servers_lost >= _most_losses;
  update runs r set status = 'pending', losses = _losses, servers_lost = _servers_lost, runs_alone = _runs_alone,
    claim_id = null, claimed_by = null, lease_until = null, claimed_at = null, executed_revision_id = null, updated_at = superstep_now(),
    -- The thread's pin may have ended while it ran.
    revision_id = (select t.revision_id from threads t where t.thread_id = _run.thread_id),
    past_attempts = coalesce(r.past_attempts, '[]') || jsonb_build_object(
      'attempt', r.attempt, 'claimed_at', r.claimed_at, 'ended_at', superstep_now(), 'ending', _ending),
    watched_by = case when _watcher is null or _watcher = any (r.watched_by) then r.watched_by else r.watched_by || _watcher end
    where r.run_id = _run_id;
  return query select 'waiting', null::text, startable_run(_run.thread_id);
end
$$;

-- Records that a server has clients of a run on another server, then returns the run's status: in a second statement, since a
-- run that ended while the first one waited must be seen as ended.
create or replace function watch_run(_run_id uuid, _server_id uuid) returns text language plpgsql as $$
begin
  update runs set watched_by = watched_by || _server_id
    where run_id = _run_id and status in ('pending', 'running') and not _server_id = any (watched_by);
  return (select r.status from runs r where r.run_id = _run_id);
end
$$;
