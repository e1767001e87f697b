-- Functions that servers of earlier releases call: `commit_claims` and `create_followed_run` are called by 0.2.0, the others by 0.1.0.
-- Servers of 0.1.0 are notified of runs and stops by these transactions; later ones send hints after their commits instead
-- (docs/decisions/0022). A migration of the next release drops these.

create or replace function create_run(
  _run_id uuid, _thread_id uuid, _thread_rule text, _thread_metadata json, _assistant_id uuid, _graph_id text,
  _metadata json, _kwargs json, _multitask_strategy text, _is_resumable boolean, _delete_thread boolean,
  _after_seconds double precision, _server_id uuid, _can_execute boolean, _is_streamed boolean, _lease_ms integer,
  _revision_id text, _caller json, _webhook text
) returns table (outcome text, claim_id uuid, has_checkpoint boolean, stopped uuid[], created_at timestamptz)
language plpgsql as $$
declare
  _created record;
begin
  select * into strict _created from create_run(_run_id, _thread_id, _thread_rule, _thread_metadata, _assistant_id, _graph_id,
    _metadata, _kwargs, _multitask_strategy, _is_resumable, _delete_thread, _after_seconds, _is_streamed, _caller, _webhook,
    json_build_object('serverId', _server_id, 'revisionId', _revision_id, 'leaseMs', _lease_ms, 'canExecute', _can_execute));
  perform tell_release_before(_created.stopping, _created.waiting);
  return query select _created.outcome, _created.claim_id, _created.has_checkpoint, _created.stopped, _created.created_at;
end
$$;

create or replace function cancel_run(_thread_id uuid, _run_id uuid, _action text, _reason text) returns text language plpgsql as $$
declare
  _stop record;
begin
  select * into strict _stop from stop_run(_thread_id, _run_id, _action, _reason);
  perform tell_release_before(_stop.stopping, _stop.waiting);
  return _stop.outcome;
end
$$;

create or replace function commit_claims(_claims json, _rows json, _bytes bytea)
returns table (claim integer, outcome text, watched_by uuid[], waiting jsonb) language sql as $$
  select claim, outcome, watched_by, waiting from commit_attempts(_claims, _rows, _bytes, 0)
$$;

create or replace function write_claims(_claims json, _rows json, _bytes bytea)
returns table (claim integer, outcome text, watched_by uuid[]) language plpgsql as $$
declare
  _claim record;
begin
  for _claim in select * from commit_attempts(_claims, _rows, _bytes, 0) loop
    perform tell_release_before(null, _claim.waiting);
    return query select _claim.claim, _claim.outcome, _claim.watched_by;
  end loop;
end
$$;

create or replace function release_run(
  _run_id uuid, _claim_id uuid, _ending text, _watcher uuid, _most_losses integer, _error json
) returns table (outcome text, status text) language plpgsql as $$
declare
  _released record;
begin
  select * into strict _released from requeue_run(_run_id, _claim_id, _ending, _watcher, _most_losses, _error);
  perform tell_release_before(null, _released.waiting);
  return query select _released.outcome, _released.status;
end
$$;

create or replace function tell_release_before(_stopping jsonb, _waiting jsonb) returns void language plpgsql as $$
begin
  if _stopping is not null then
    perform pg_notify('run_cancel', _stopping ->> 'runId');
  end if;
  if _waiting is not null then
    perform pg_notify('runs_pending', case when (_waiting ->> 'runsAlone')::boolean then 'alone' else '' end);
  end if;
end
$$;

create or replace function keep_latest_checkpoints(_thread_id uuid) returns boolean language plpgsql as $$
begin
  return prune_checkpoints(_thread_id, 2000000000, 1000000000000) <> 'skipped';
end
$$;

create or replace function create_followed_run(
  _run_id uuid, _thread_id uuid, _thread_rule text, _thread_metadata json, _assistant_id uuid, _graph_id text,
  _metadata json, _kwargs json, _multitask_strategy text, _is_resumable boolean, _delete_thread boolean,
  _after_seconds double precision, _is_streamed boolean, _caller json, _webhook text, _claimer json,
  _follow_ms double precision, _first_events json
) returns table (outcome text, claim_id uuid, has_checkpoint boolean, stopped uuid[], created_at timestamptz, stopping jsonb, waiting jsonb,
  place_before bigint, places bigint[])
language plpgsql as $$
#variable_conflict use_column
declare
  _created record;
  _until timestamptz := now() + make_interval(secs => _follow_ms / 1000);
  _place_before bigint;
  _places bigint[];
begin
  select * into strict _created from create_run(_run_id, _thread_id, _thread_rule, _thread_metadata, _assistant_id, _graph_id, _metadata,
    _kwargs, _multitask_strategy, _is_resumable, _delete_thread, _after_seconds, _is_streamed, _caller, _webhook, _claimer);
  if _created.outcome = 'created' then
    insert into watched_threads (thread_id, until, protocol_until) values (_thread_id, _until, _until)
      on conflict (thread_id) do update set until = excluded.until, protocol_until = excluded.protocol_until;
    _place_before := lock_thread_log_at_end(_thread_id);
  end if;
  if _created.claim_id is not null then
    with first as (
      insert into run_events (run_id, thread_id, seq, event, data)
        select _run_id, _thread_id, seq, event, data
        from json_to_recordset(_first_events) as given (seq bigint, event text, data text) order by seq
        returning position)
    select array_agg(position order by position) into _places from first;
  end if;
  return query select _created.outcome, _created.claim_id, _created.has_checkpoint, _created.stopped, _created.created_at,
    _created.stopping, _created.waiting, _place_before, _places;
end
$$;
