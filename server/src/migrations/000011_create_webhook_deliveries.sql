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
create function queue_webhook() returns trigger language plpgsql as 'begin return null; end'; -- functions/ has its text.
create trigger runs_queue_webhook after update of status on runs for each row
  when (new.webhook is not null and new.status not in ('pending', 'running') and old.status in ('pending', 'running'))
  execute function queue_webhook();

-- One that is made due by hand is delivered at once.
create function tell_webhook_due() returns trigger language plpgsql as 'begin return null; end'; -- functions/ has its text.
create trigger webhook_deliveries_tell_due after update of next_try_at on webhook_deliveries for each row
  when (new.next_try_at <= now())
  execute function tell_webhook_due();
