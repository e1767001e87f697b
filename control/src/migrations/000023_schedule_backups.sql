-- Scheduled backups: when the next one is due, and what became of the last ones. Their failures are events of the installation,
-- which belong to no workspace and are seen by operators only.

create table backup_schedule (
  is_only boolean primary key default true check (is_only),
  schedule text not null,
  -- Moves when a backup has succeeded; a failed one is tried again.
  due_at timestamptz not null,
  last_success_at timestamptz,
  last_file text,
  last_size_bytes bigint,
  -- Consecutive ones.
  failures integer not null default 0,
  last_failure text,
  check ((failures = 0) = (last_failure is null)),
  check ((last_success_at is null) = (last_file is null) and (last_file is null) = (last_size_bytes is null))
);

alter table events alter column workspace_id drop not null;

-- As before, but for the channel: an event of the installation is of no workspace.
create or replace function settle_event() returns trigger language plpgsql as $$
begin
  perform hold_the_records();
  update events set seq = nextval('event_seq') where event_id = new.event_id;
  insert into webhook_deliveries (webhook_id, event_id)
    select webhook_id, new.event_id from webhooks
    where (workspace_id = new.workspace_id or all_workspaces)
      and (event_types = '{}' or new.type = any (event_types))
    -- One that is locked is being deleted: whoever does so is about to wait for our lock.
    for key share skip locked;
  if found then
    perform pg_notify('superstep_webhooks', '');
  end if;
  perform pg_notify('superstep_events', coalesce(coalesce(new.deployment_id, new.workspace_id)::text, ''));
  return null;
end $$;
