-- Webhooks at the end of runs: the row is written with the run's final status, so a kill cannot separate the two.

-- Trigger: a run that ends. A run that is deleted, by a rollback or with its thread, has no webhook call.
-- `updated_at` of a running run is the moment when it was claimed.
create or replace function queue_webhook() returns trigger language plpgsql as $$
begin
  insert into webhook_deliveries (run_id, thread_id, assistant_id, url, status, multitask_strategy, attempt, metadata,
      kwargs, values, error, run_created_at, run_started_at, run_ended_at)
    select new.run_id, new.thread_id, new.assistant_id, new.webhook, new.status, new.multitask_strategy, new.attempt,
      new.metadata, new.kwargs, t.values, new.error, new.created_at,
      case when old.status = 'running' then old.updated_at end, new.updated_at
    from threads t where t.thread_id = new.thread_id
    on conflict do nothing;
  return null;
end
$$;

-- Trigger: a delivery that is made due manually is sent at once.
create or replace function tell_webhook_due() returns trigger language plpgsql as $$
begin
  perform pg_notify('webhooks_due', '');
  return null;
end
$$;
