-- A unit whose workers crash again and again speaks against its revision as one that crashes itself does; and what callers
-- see of a unit is more than whether its process runs.

alter table units
  -- Crashes of its workers in a row that count against the project, and why the last one ended; as the unit told last.
  add column worker_crashes integer not null default 0,
  add column last_worker_crash text,
  -- It said at the last look that it is ready.
  add column is_answering boolean not null default false;

create or replace function record_crash_loop() returns trigger language plpgsql as $$
begin
  insert into events (workspace_id, deployment_id, revision_id, type, data)
    select d.workspace_id, new.deployment_id, new.revision_id, 'unit.crash_loop',
      jsonb_build_object('name', d.name, 'unit_id', new.unit_id, 'crashes', new.crashes,
        'worker_crashes', new.worker_crashes, 'last_worker_crash', new.last_worker_crash)
    from deployments d where d.deployment_id = new.deployment_id;
  return null;
end $$;

drop trigger unit_crash_loop_is_recorded on units;
create trigger unit_crash_loop_is_recorded after update of crashes, worker_crashes on units
  for each row when (old.crashes + old.worker_crashes < 2 and new.crashes + new.worker_crashes >= 2)
  execute function record_crash_loop();
