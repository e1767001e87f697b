-- An operator follows the events of all workspaces: by a stream, and by a webhook that is told of all of them.

create index event_of_a_workspace on events (workspace_id, seq);

-- Made with a key of the installation, and seen with one only.
alter table webhooks add column all_workspaces boolean not null default false;

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
  perform pg_notify('superstep_events', coalesce(new.deployment_id, new.workspace_id)::text);
  return null;
end $$;
