-- Creating runs. The rules R1 to R9 are in server/src/runs/README.md, the order of locks in runs.sql.

-- Creates a run. The requesting server claims it at once if it has a free slot, may execute it, and the thread has no other run in
-- flight; otherwise the run waits in the queue. A run on a pinned thread gets the thread's revision.
-- If a stateless run's thread is kept, it is an ordinary thread.
-- `_claimer`: the requesting server, as `{serverId, revisionId, leaseMs, canExecute}`.
-- outcome: created | no_thread | thread_busy
-- stopping: the run that must stop for this one (`running_run`); waiting: the run for which a server should be woken (`startable_run`)
create or replace function create_run(
  _run_id uuid, _thread_id uuid, _thread_rule text, _thread_metadata json, _assistant_id uuid, _graph_id text,
  _metadata json, _kwargs json, _multitask_strategy text, _is_resumable boolean, _delete_thread boolean,
  _after_seconds double precision, _is_streamed boolean, _caller json, _webhook text, _claimer json
) returns table (outcome text, claim_id uuid, has_checkpoint boolean, stopped uuid[], created_at timestamptz, stopping jsonb, waiting jsonb)
language plpgsql as $$
#variable_conflict use_column
declare
  _server_id uuid := _claimer ->> 'serverId';
  _own_revision text := _claimer ->> 'revisionId';
  _in_flight uuid[] := '{}';
  _created_at timestamptz := superstep_now();
  _stopped uuid[] := '{}';
  _stopping jsonb;
  _waiting jsonb;
  _claim_id uuid;
  _has_checkpoint boolean := false;
  _pinned_to text;
  _executor text;
  _is_known boolean := true;
begin
  if _thread_rule <> 'ephemeral' then
    select t.revision_id into _pinned_to from threads t where t.thread_id = _thread_id for update;
    _is_known := found;
    if not _is_known and _thread_rule = 'must_exist' then
      return query select 'no_thread', null::uuid, false, '{}'::uuid[], null::timestamptz, null::jsonb, null::jsonb;
      return;
    end if;
    -- Also when the clock was set back, a run is not due before one that was requested earlier (R3).
    select coalesce(array_agg(r.run_id), '{}'), greatest(_created_at, max(r.created_at)) into _in_flight, _created_at
      from runs r where r.thread_id = _thread_id and r.status in ('pending', 'running');
    if _multitask_strategy = 'reject' and cardinality(_in_flight) > 0 then
      return query select 'thread_busy', null::uuid, false, '{}'::uuid[], null::timestamptz, null::jsonb, null::jsonb;
      return;
    end if;
    _has_checkpoint := exists (select from checkpoints c where c.thread_id = _thread_id::text);
  end if;
  _executor := coalesce(_pinned_to, revision_of_thread(_thread_id));
  -- Not one condition: with the constants in it Postgres would plan the look each time.
  if _pinned_to is null and _executor is not null and _thread_rule <> 'ephemeral' then
    if exists (select from serving_revisions s where s.revision_id = _executor and s.thread_pinning = 'always') then
      _pinned_to := _executor;
    end if;
  end if;
  insert into threads (thread_id, status, graph_id, assistant_id, metadata, is_ephemeral, revision_id)
    values (_thread_id, 'busy', _graph_id, _assistant_id, _thread_metadata, _thread_rule = 'ephemeral' and _delete_thread, _pinned_to)
    on conflict (thread_id) do update
      set status = 'busy', graph_id = excluded.graph_id, assistant_id = excluded.assistant_id, updated_at = superstep_now(),
        revision_id = coalesce(threads.revision_id, excluded.revision_id)
      where _is_known;
  if not found then
    -- Another request has created the thread meanwhile, with a run of its own: this one must see it. The thread is locked now.
    return query select * from create_run(_run_id, _thread_id, _thread_rule, _thread_metadata, _assistant_id, _graph_id, _metadata, _kwargs,
      _multitask_strategy, _is_resumable, _delete_thread, _after_seconds, _is_streamed, _caller, _webhook, _claimer);
    return;
  end if;
  if _multitask_strategy in ('interrupt', 'rollback') and cardinality(_in_flight) > 0 then
    _stopped := stop_runs(_thread_id, _in_flight, _multitask_strategy, 'run ' || _run_id || ' took its place');
    _stopping := running_run(_thread_id);
  end if;

  if (_claimer ->> 'canExecute')::boolean and cardinality(_in_flight) = 0 and _after_seconds <= 0
      and (_own_revision is null or _own_revision = _executor) then
    _claim_id := gen_random_uuid();
  end if;
  insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy, is_resumable,
      delete_thread_on_completion, created_at, not_before, attempt, claim_id, claimed_by, lease_until, claimed_at, watched_by, caller,
      webhook, revision_id, executed_revision_id)
    values (_run_id, _thread_id, _assistant_id, _graph_id, case when _claim_id is null then 'pending' else 'running' end,
      _metadata, _kwargs, _multitask_strategy, _is_resumable, _delete_thread, _created_at, _created_at + make_interval(secs => _after_seconds),
      case when _claim_id is null then 0 else 1 end, _claim_id,
      case when _claim_id is not null then _server_id end,
      case when _claim_id is not null then superstep_now() + make_interval(secs => (_claimer ->> 'leaseMs')::integer / 1000.0) end,
      case when _claim_id is not null then superstep_now() end,
      case when _claim_id is null and _is_streamed then array[_server_id] else '{}' end, _caller,
      _webhook, _pinned_to, case when _claim_id is not null then _own_revision end);
  if _claim_id is null then
    -- A server must also be notified of a delayed run.
    _waiting := case when cardinality(_in_flight) > 0 and _after_seconds <= 0 then startable_run(_thread_id)
      else jsonb_build_object('revisionId', _executor, 'runsAlone', false) end;
  end if;
  return query select 'created', _claim_id, _has_checkpoint, _stopped, _created_at, _stopping, _waiting;
end
$$;

-- Begins a run in one trip: what it was planned from is compared, then the run is created, and its thread followed if asked. `stale`: the
-- assistant, or the metadata or config of the thread, are not what the server knew; nothing was changed. `thread_full`: as many runs as may
-- wait on the thread do. `_known`: {assistant, metadata, config}, texts; a thread without a row counts as one without metadata and config.
-- With `_follow_ms` clients of the newer streaming protocol follow the thread from now on. If the run is claimed at once, its first events are
-- logged with it (`_first_events`: `[{seq, event, data}]`), so that clients get them right after the commit.
-- place_before: the place of the thread's last event before the run, -1 for none; places: those of the first events; null: none was logged
create or replace function begin_run(
  _run_id uuid, _thread_id uuid, _thread_rule text, _thread_metadata json, _assistant_id uuid, _graph_id text,
  _metadata json, _kwargs json, _multitask_strategy text, _is_resumable boolean, _delete_thread boolean,
  _after_seconds double precision, _is_streamed boolean, _caller json, _webhook text, _claimer json,
  _known json, _most_waiting integer, _follow_ms double precision, _first_events json
) returns table (outcome text, claim_id uuid, has_checkpoint boolean, stopped uuid[], created_at timestamptz, stopping jsonb, waiting jsonb,
  followed_ms double precision, protocol_ms double precision, place_before bigint, places bigint[])
language plpgsql as $$
#variable_conflict use_column
declare
  _created record;
  _thread record;
  _outcome text;
  _is_new boolean := false;
  _followed_ms double precision := _follow_ms;
  _protocol_ms double precision := _follow_ms;
  _until timestamptz := superstep_now() + make_interval(secs => _follow_ms / 1000);
  _place_before bigint;
  _places bigint[];
begin
  -- Who has deleted the assistant waits for the transactions that have still read it, and finds their threads (delete_threads=true).
  perform pg_advisory_xact_lock_shared(hashtext('superstep: runs of an assistant'), hashtext(_assistant_id::text));
  if _known is null then
    null; -- Asked by a server of the previous release (release_before.sql).
  elsif _known ->> 'assistant' is distinct from (
      select assistant_stamp(a) from assistants a where a.assistant_id = _assistant_id) then
    _outcome := 'stale';
  elsif _thread_rule <> 'ephemeral' then
    select t.metadata::text, t.config::text, t.status into _thread from threads t where t.thread_id = _thread_id for update;
    if not found and _thread_rule = 'create_if_missing' and _known ->> 'metadata' = '{}' and _known ->> 'config' = '{}' then
      insert into threads (thread_id, metadata) values (_thread_id, _thread_metadata) on conflict do nothing;
      _is_new := found;
      if not _is_new then
        -- Another request has created it meanwhile.
        select t.metadata::text, t.config::text, t.status into _thread from threads t where t.thread_id = _thread_id for update;
      end if;
    end if;
    if _is_new then
      null;
    elsif coalesce(_thread.metadata, '{}') <> _known ->> 'metadata' or coalesce(_thread.config, '{}') <> _known ->> 'config' then
      _outcome := 'stale';
    elsif _most_waiting > 0 and _thread.status = 'busy' and _multitask_strategy = 'enqueue' then
      if _most_waiting <= (select count(*) from (
          select from runs r where r.thread_id = _thread_id and r.status = 'pending' limit _most_waiting) waits) then
        _outcome := 'thread_full';
      end if;
    end if;
  end if;
  if _outcome is not null then
    return query select _outcome, null::uuid, false, '{}'::uuid[], null::timestamptz, null::jsonb, null::jsonb, null::double precision,
      null::double precision, null::bigint, null::bigint[];
    return;
  end if;
  select * into strict _created from create_run(_run_id, _thread_id, _thread_rule, _thread_metadata, _assistant_id, _graph_id, _metadata,
    _kwargs, _multitask_strategy, _is_resumable, _delete_thread, _after_seconds, _is_streamed, _caller, _webhook, _claimer);
  if _created.outcome = 'created' and _follow_ms is not null then
    insert into watched_threads (thread_id, until, protocol_until) values (_thread_id, _until, _until)
      on conflict (thread_id) do update set until = excluded.until, protocol_until = excluded.protocol_until;
    _place_before := lock_thread_log_at_end(_thread_id);
    if _created.claim_id is not null then
      with first as (
        insert into run_events (run_id, thread_id, seq, event, data)
          select _run_id, _thread_id, seq, event, data
          from json_to_recordset(_first_events) as given (seq bigint, event text, data text) order by seq
          returning position)
      select array_agg(position order by position) into _places from first;
    end if;
  elsif _thread_rule <> 'ephemeral' then
    select extract(epoch from w.until - superstep_now())::float8 * 1000, extract(epoch from w.protocol_until - superstep_now())::float8 * 1000
      into _followed_ms, _protocol_ms from watched_threads w where w.thread_id = _thread_id and w.until > superstep_now();
  end if;
  return query select _created.outcome, _created.claim_id, _created.has_checkpoint, _created.stopped, _created.created_at,
    _created.stopping, _created.waiting, _followed_ms, nullif(greatest(_protocol_ms, 0), 0), _place_before, _places;
end
$$;
