-- Functions that only servers of the previous release (0.2.0) call. A migration of the release after the next drops them.

create or replace function commit_claims(_claims json, _rows json, _bytes bytea)
returns table (claim integer, outcome text, watched_by uuid[], waiting jsonb) language sql as $$
  select claim, outcome, watched_by, waiting from commit_attempts(_claims, _rows, _bytes, 0)
$$;

create or replace function create_followed_run(
  _run_id uuid, _thread_id uuid, _thread_rule text, _thread_metadata json, _assistant_id uuid, _graph_id text,
  _metadata json, _kwargs json, _multitask_strategy text, _is_resumable boolean, _delete_thread boolean,
  _after_seconds double precision, _is_streamed boolean, _caller json, _webhook text, _claimer json,
  _follow_ms double precision, _first_events json
) returns table (outcome text, claim_id uuid, has_checkpoint boolean, stopped uuid[], created_at timestamptz, stopping jsonb, waiting jsonb,
  place_before bigint, places bigint[])
language sql as $$
  select outcome, claim_id, has_checkpoint, stopped, created_at, stopping, waiting, place_before, places
  from begin_run(_run_id, _thread_id, _thread_rule, _thread_metadata, _assistant_id, _graph_id, _metadata, _kwargs, _multitask_strategy,
    _is_resumable, _delete_thread, _after_seconds, _is_streamed, _caller, _webhook, _claimer, null, 0, _follow_ms, _first_events)
$$;

create or replace function draw(_revision_id text, _share numeric, _thread_id uuid) returns float8 language sql immutable as $$
  select rendezvous_score(_revision_id, _share, _thread_id)
$$;
