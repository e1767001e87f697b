-- A new revision may get a percentage of the threads before it takes over (docs/decisions/0030-a-canary-is-a-role.md).

alter table revisions
  drop constraint revisions_role_check,
  -- canary: it executes the runs of a percentage of the threads; requests meet the revision that serves.
  add constraint revisions_role_check check (role in ('starting', 'serving', 'standby', 'canary', 'pinned', 'retiring')),
  -- The percentage of the threads that it gets beside the revision that serves; null: it takes over. Of a canary, 100: it is to take
  -- over; 0: it is to be aborted.
  add column weight integer check (weight between 0 and 100),
  -- Since when it serves: the watch over it begins then.
  add column serves_since timestamptz;
create unique index revision_one_canary on revisions (deployment_id) where role = 'canary';

-- Runs that ended on a unit since the canary of its deployment got threads, and those of them that failed.
alter table units
  add column runs_ended bigint not null default 0,
  add column runs_failed bigint not null default 0,
  -- What its process reported last; null: what it reports next is where counting begins.
  add column reported_ended bigint,
  add column reported_failed bigint;

create function record_canary() returns trigger language plpgsql as $$
begin
  insert into events (workspace_id, deployment_id, revision_id, type, data)
  select workspace_id, deployment_id, new.revision_id,
    case new.role when 'serving' then 'revision.promoted' else 'revision.aborted' end,
    jsonb_build_object('name', name, 'error_code', new.error_code) from deployments where deployment_id = new.deployment_id;
  return null;
end $$;
create trigger canary_is_recorded after update of role on revisions for each row
  when (old.role = 'canary' and new.role in ('serving', 'retiring')) execute function record_canary();
