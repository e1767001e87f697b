-- Webhooks that are to be called at the end of runs. The row is written with the run's last status, by whatever statement
-- ends it, so no kill comes between the two; a run without a webhook pays for one comparison.

create table webhook_deliveries (
  -- A run ends once, so there is one delivery of it. Its run and thread may be gone: what is told of them is kept here.
  run_id uuid primary key,
  thread_id uuid not null,
  assistant_id uuid not null,
  url text not null,
  status text not null,
  multitask_strategy text not null,
  attempt integer not null,
  metadata json not null,
  kwargs json not null,
  values json,
  error json,
  run_created_at timestamptz not null,
  -- The start of its last attempt; null for one that never started.
  run_started_at timestamptz,
  run_ended_at timestamptz not null,

  state text not null default 'pending' check (state in ('pending', 'delivered', 'dead')),
  tries integer not null default 0,
  next_try_at timestamptz default now(),
  last_tried_at timestamptz,
  -- What the last try came to: what the receiver answered, or why there is no answer.
  reply_status integer,
  reply text,
  failure text,
  check ((state = 'pending') = (next_try_at is not null))
);
create index webhook_deliveries_due on webhook_deliveries (next_try_at) where next_try_at is not null;
create index webhook_deliveries_over on webhook_deliveries (last_tried_at) where next_try_at is null;

-- A run that is removed instead, by a rollback or with its thread, calls nobody: nothing of it is left, as was asked.
-- `updated_at` of a running run is the moment when it was claimed.
create function queue_webhook() returns trigger language plpgsql as $$
begin
  insert into webhook_deliveries (run_id, thread_id, assistant_id, url, status, multitask_strategy, attempt, metadata,
      kwargs, values, error, run_created_at, run_started_at, run_ended_at)
    select new.run_id, new.thread_id, new.assistant_id, new.webhook, new.status, new.multitask_strategy, new.attempt,
      new.metadata, new.kwargs, t.values, new.error, new.created_at,
      case when old.status = 'running' then old.updated_at end, new.updated_at
    from threads t where t.thread_id = new.thread_id
    on conflict do nothing;
  perform pg_notify('webhooks_due', '');
  return null;
end
$$;
create trigger runs_queue_webhook after update of status on runs for each row
  when (new.webhook is not null and new.status not in ('pending', 'running') and old.status in ('pending', 'running'))
  execute function queue_webhook();

-- One that is made due by hand is delivered at once.
create function tell_webhook_due() returns trigger language plpgsql as $$
begin
  perform pg_notify('webhooks_due', '');
  return null;
end
$$;
create trigger webhook_deliveries_tell_due after update of next_try_at on webhook_deliveries for each row
  when (new.next_try_at <= now())
  execute function tell_webhook_due();

-- As in 000003, but the thread's state is written before the run ends, so that what ends with the run can tell it.
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
    update threads t set values = coalesce(_values, t.values), interrupts = coalesce(_interrupts, t.interrupts),
      error = _error, state_updated_at = now()
      where t.thread_id = _run.thread_id;
    update runs r set status = _status, error = _error, claim_id = null, claimed_by = null, lease_until = null, updated_at = now()
      where r.run_id = _run_id;
    perform settle_thread(_run.thread_id, _thread_status);
  end if;
  if _run.delete_thread_on_completion then
    perform delete_checkpoints(_run.thread_id);
    delete from threads t where t.thread_id = _run.thread_id;
  end if;
  if exists (select from runs r where r.thread_id = _run.thread_id and r.status = 'pending') then
    perform pg_notify('runs_pending', '');
  end if;
  return query select case when _run.cancel_action = 'rollback' then 'rolled_back' else 'finished' end, _run.watched_by;
end
$$;
