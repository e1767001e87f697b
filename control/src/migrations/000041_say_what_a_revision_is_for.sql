-- Revisions of uploaded code could not be told apart. `message` is what the caller says about a revision; the commit of uploaded code is in
-- `source_revision_config`, so that it stays with the code when later revisions take that over. Events say both. A former release that runs
-- beside this one writes no messages.
alter table revisions add column message text;

create or replace function record_revision() returns trigger language plpgsql as $$
declare
  previous text;
begin
  if tg_op = 'UPDATE' then
    previous := old.status;
  end if;
  insert into events (workspace_id, deployment_id, revision_id, type, data)
    select d.workspace_id, new.deployment_id, new.revision_id, 'revision.status_changed', jsonb_build_object(
      'name', d.name, 'number', new.seq, 'status', new.status, 'previous_status', previous, 'trigger', new.trigger,
      'message', new.message, 'commit', coalesce(new.commit, nullif(new.source_revision_config -> 'commit', 'null')),
      'commit_sha', new.commit_sha, 'error_code', new.error_code)
    from deployments d where d.deployment_id = new.deployment_id;
  return null;
end $$;
